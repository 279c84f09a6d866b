/** A refusal of the server: what is wrong, where, whose fault it is, and what to do. */
import { useEffect, useState } from 'react';
import { BROKEN_OFF, NOT_SENT, UNREACHABLE } from '../../api/client.ts';
import type { Refusal } from '../session/api.ts';
import { Icon } from './icon.tsx';
import { Id } from './values.tsx';

export function Refused({ refusal, retry }: { refusal: Refusal; retry?: () => void }) {
  const { messages, request_id: requestId } = refusal.extra;
  const seconds = useSecondsLeft(refusal);
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
        {refusal.http === 429 && (
          <span className="small" role="timer">
            {seconds > 0 ? `Again in ${seconds} s.` : 'You can try again now.'}
          </span>
        )}
        {typeof requestId === 'string' && (
          <span className="small">
            Request <Id value={requestId} />
          </span>
        )}
        {retry && refusal.http !== 404 && (
          <button type="button" className="btn" disabled={seconds > 0} onClick={retry}>
            Try again
          </button>
        )}
      </div>
    </div>
  );
}

/** Counts down the seconds that a 429 asks to wait. 0 for other refusals. */
function useSecondsLeft(refusal: Refusal): number {
  const [left, setLeft] = useState(() => waitSecondsOf(refusal));
  useEffect(() => {
    const until = Date.now() + waitSecondsOf(refusal) * 1_000;
    const count = (): void => {
      const rest = Math.max(0, Math.ceil((until - Date.now()) / 1_000));
      setLeft(rest);
      if (rest === 0) clearInterval(timer);
    };
    const timer = setInterval(count, 1_000);
    count();
    return () => clearInterval(timer);
  }, [refusal]);
  return left;
}

function waitSecondsOf({ http, extra: { retry_after: seconds } }: Refusal): number {
  return http === 429 && typeof seconds === 'number' ? seconds : 0;
}

function faultOf({ http, status }: Refusal): string {
  if (status === UNREACHABLE || status === BROKEN_OFF || status === NOT_SENT)
    return 'Millrace was not reached. What you typed is still here.';
  if (http === 429) return 'Millrace limits calls, and did not execute this one.';
  if (http === 404) return 'It may be deleted or kept no longer, or the id is mistyped. The menu leads to the lists.';
  if (http >= 500) return 'The fault is on the side of Millrace: try again, and report the request if it stays.';
  return 'Nothing was changed.';
}
