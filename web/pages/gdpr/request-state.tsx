/** Words that the pages of privacy requests share: type, state, source, and what keeps a request. */
import type { ListedGdprRequest } from '../../../api/client.ts';
import type { Tone } from '../../parts/balance.tsx';
import { Chip } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { When } from '../../parts/values.tsx';

type Request = ListedGdprRequest;

export const TYPE_WORDS: Record<Request['type'], string> = { access: 'Access', delete: 'Deletion' };

const SOURCE_WORDS: Record<Request['source'], string> = {
  api: 'by staff or the API',
  sdk: 'from a device',
  restore: 'after a restored backup',
};

export const sourceText = ({ source, app_id: app }: Pick<Request, 'source' | 'app_id'>): string =>
  `${SOURCE_WORDS[source]}${app === null ? '' : `, app ${app}`}`;

export const peopleText = (count: number): string => `${count} ${count === 1 ? 'person' : 'people'}`;

/** Returns whether Millrace gave the request up: it starts it again on approval only. */
export const isGivenUp = ({ state, fault, internal_error: error }: Request): boolean =>
  state === 'accepted' && fault !== null && error !== null;

/** Returns whether Millrace works on the request, or soon will. */
export const isUnderWay = ({ state }: Pick<Request, 'state'>): boolean => state === 'accepted' || state === 'running';

const STATES: Record<Request['state'], [tone: Tone, words: string]> = {
  waiting: ['warn', 'waits for approval'],
  accepted: ['info', 'accepted'],
  running: ['info', 'running'],
  treated: ['ok', 'treated'],
  declined: ['neutral', 'declined'],
};

export function StateChip({ request }: { request: Request }) {
  const [tone, words] = STATES[request.state];
  if (isGivenUp(request)) return <Chip tone="bad">given up</Chip>;
  return (
    <>
      <Chip tone={tone}>
        {tone === 'ok' && <Icon name="check" />}
        {words}
      </Chip>
      {request.fault && <Chip tone="bad">kept</Chip>}
    </>
  );
}

/** Says what keeps a request, and what to do about it. */
export function Kept({ request: { fault, internal_error: error } }: { request: Request }) {
  if (fault === null) return null;
  return (
    <div className="note bad">
      <Icon name="crash" />
      <div className="tight">
        <b>{fault.reason}</b>
        <span>{fault.what_to_do}</span>
        <span className="small">
          Since <When at={fault.since} />
          {fault.location === null ? '' : `, in ${fault.location}`}.
          {error !== null && ` The fault is on the side of Millrace: its logs have more under ${error.id}.`}
        </span>
      </div>
    </div>
  );
}
