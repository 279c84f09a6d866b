/** A refusal of the server: what is wrong, where, whose fault it is, and what to do. */
import { BROKEN_OFF, NOT_SENT, UNREACHABLE } from '../../api/client.ts';
import type { Refusal } from '../session/api.ts';
import { Icon } from './icon.tsx';

export function Refused({ refusal, retry }: { refusal: Refusal; retry?: () => void }) {
  const { messages } = refusal.extra;
  return (
    <div className="note bad refusal" role="alert">
      <Icon name="crash" />
      <div className="tight">
        <b>{refusal.message}</b>
        {messages && (
          <ul>
            {messages.map(({ element, message }) => (
              <li key={`${element} ${message}`}>
                <code>{element}</code> {message}
              </li>
            ))}
          </ul>
        )}
        <span className="small">{faultOf(refusal)}</span>
        {retry && (
          <button type="button" className="btn" onClick={retry}>
            Try again
          </button>
        )}
      </div>
    </div>
  );
}

function faultOf({ http, status }: Refusal): string {
  if (status === UNREACHABLE || status === BROKEN_OFF || status === NOT_SENT)
    return 'Millrace was not reached. What you typed is still here.';
  if (http === 429) return 'Millrace limits calls: wait, then try again.';
  if (http >= 500) return 'The fault is on the side of Millrace. Nothing that you sent is lost: try again.';
  return 'Nothing was changed.';
}
