/** Cells of lists of messages: the decision about one, and what its device has confirmed. */
import { Chip } from '../../parts/head.tsx';
import { When } from '../../parts/values.tsx';
import { codeTone } from './send-state.tsx';
import type { MessageOfPerson, SentDecision } from '../../../api/client.ts';

type Decided = Pick<MessageOfPerson | SentDecision, 'code' | 'reason' | 'details' | 'due_at'>;
type Confirmed = Pick<MessageOfPerson | SentDecision, 'delivered_at' | 'opened_at' | 'shown_at' | 'clicked_at'>;

/** Shows a decision in words; `settled`: when it was made, if that is to be shown. */
export function Decision({
  of: { code, reason, details, due_at: due },
  settled = null,
}: {
  of: Decided;
  settled?: string | null;
}) {
  return (
    <div className="tight problem">
      <span className="facts">
        <Chip tone={codeTone(code)}>{code}</Chip>
        {due !== null && (
          <span className="small">
            due <When at={due} />
          </span>
        )}
        {settled !== null && (
          <span className="small">
            <When at={settled} />
          </span>
        )}
      </span>
      <span className="small second">
        {code === 'REFUSED' && details !== null ? 'the provider refused it' : reason}
        {details !== null && `; ${details}`}
      </span>
    </div>
  );
}

/** Returns what a device has confirmed of a message, in order. */
export const confirmedSteps = (message: Confirmed) =>
  (
    [
      ['delivered', message.delivered_at],
      ['opened', message.opened_at],
      ['shown', message.shown_at],
      ['clicked', message.clicked_at],
    ] as const
  ).filter(([, at]) => at !== null);

export function OnDevice({ message }: { message: Confirmed }) {
  const steps = confirmedSteps(message);
  if (steps.length === 0) return <span className="quiet">–</span>;
  return (
    <ul className="tight">
      {steps.map(([word, at]) => (
        <li key={word} className="small">
          {word} <When at={at} />
        </li>
      ))}
    </ul>
  );
}
