/** The words of requests and of codes, and the balance of what left. */
import type { SendState } from '../../../api/client.ts';
import { type AttemptCode, ATTEMPT_CODES, SENT_CODES } from '../../../domain/sends/attempt.ts';
import { Balance, type Tone } from '../../parts/balance.tsx';
import { Chip } from '../../parts/head.tsx';

export const CODES = Object.keys(ATTEMPT_CODES) as AttemptCode[];

const CODE_TONES: Partial<Record<AttemptCode, Tone>> = {
  PUSH_SENT: 'ok',
  INAPP_AVAILABLE: 'ok',
  PENDING: 'info',
  UNKNOWN: 'unknown',
  REFUSED: 'bad',
  EXPIRED: 'bad',
  MESSAGE_TO_BIG: 'bad',
  MISSING_TEMPLATE_PARAMS: 'bad',
};

export const codeTone = (code: AttemptCode): Tone => CODE_TONES[code] ?? 'warn';

/** Returns whether the code is of a push that did not leave: those are counted by reason. */
export const isHeldBack = (code: string): boolean => !(SENT_CODES as readonly string[]).includes(code);

const STATES: Record<SendState['state'], { word: string; tone: Tone }> = {
  accepted: { word: 'accepted', tone: 'info' },
  running: { word: 'running', tone: 'info' },
  finished: { word: 'finished', tone: 'ok' },
  failed: { word: 'failed', tone: 'bad' },
  canceled: { word: 'canceled', tone: 'warn' },
};

export function SendStateChip({ state }: Pick<SendState, 'state'>) {
  const { word, tone } = STATES[state];
  return <Chip tone={tone}>{word}</Chip>;
}

export const hasEnded = ({ ended_at: at }: Pick<SendState, 'ended_at'>): boolean => at !== null;

/** Shows pushes that left = confirmed + taken + unknown + refused. `to`: the page whose filters show these rows. */
export function SentBalanceLine({ sent, to }: Pick<SendState, 'sent'> & { to?: string }) {
  const part = (label: string, count: number, tone: Tone, search: Record<string, string>) => ({
    label,
    count,
    tone,
    ...(to === undefined ? {} : { to, search, hash: 'decisions' }),
  });
  return (
    <Balance
      total={sent.sent}
      what={sent.sent === 1 ? 'push left' : 'pushes left'}
      parts={[
        part('confirmed by the device', sent.confirmed, 'ok', { outcome: 'confirmed', code: '' }),
        part('taken by the provider', sent.taken, 'accent', { outcome: 'taken', code: '' }),
        part('unknown', sent.unknown, 'unknown', { outcome: 'unknown', code: '' }),
        part('refused', sent.refused, 'bad', { outcome: 'refused', code: '' }),
      ]}
      note="Unknown: the connection or the worker ended before the provider answered. Such a push may have arrived, and is not sent again."
    />
  );
}
