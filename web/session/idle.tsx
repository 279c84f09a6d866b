/** The warning before a session ends for want of use. */
import { useEffect, useRef, useState } from 'react';
import type { ConsoleSession } from '../../api/client.ts';
import { Refused } from '../parts/refusal.tsx';
import { Refusal } from './api.ts';

const WARNING_MS = 2 * 60_000;
/** Between two questions to the server, whose clock and other tabs decide when the session ends. */
const CHECK_MS = 30_000;

type Ends = { at: number; isFixed: boolean };

/** Asks the server in the background when the session ends, warns two minutes before, and extends it on a press. */
export function IdleWarning({
  session,
  ask,
  extend,
  onError,
}: {
  session: ConsoleSession;
  ask: () => Promise<ConsoleSession>;
  extend: () => Promise<ConsoleSession>;
  /** Hears why the server did not say when the session ends. */
  onError: (error: unknown) => void;
}) {
  const [ends, setEnds] = useState<Ends>(() => endsOf(session));
  const [now, setNow] = useState(Date.now);
  const [refusal, setRefusal] = useState<Refusal | null>(null);
  const dialog = useRef<HTMLDialogElement>(null);
  const left = ends.at - now;
  const isNear = left <= WARNING_MS;

  useEffect(() => {
    const look = (): void => {
      setNow(Date.now());
      ask().then((shown) => setEnds(endsOf(shown)), onError);
    };
    const timer = setInterval(look, CHECK_MS);
    return () => clearInterval(timer);
  }, [ask, onError]);

  useEffect(() => {
    if (!isNear) {
      dialog.current?.close();
      return undefined;
    }
    dialog.current?.showModal();
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [isNear]);

  const stay = (): void => {
    setRefusal(null);
    extend().then(
      (shown) => setEnds(endsOf(shown)),
      (error: unknown) => {
        if (error instanceof Refusal) setRefusal(error);
        onError(error);
      },
    );
  };
  const seconds = Math.max(0, Math.ceil(left / 1_000));
  return (
    <dialog ref={dialog} aria-labelledby="idle-title" onCancel={(event) => event.preventDefault()}>
      <div className="body">
        <h2 id="idle-title">{ends.isFixed ? 'The session ends after 12 hours' : 'Are you still here?'}</h2>
        <p role="timer">
          The session ends in {Math.floor(seconds / 60)} min {String(seconds % 60).padStart(2, '0')} s.
          {ends.isFixed ? ' Log in again after that; what you typed and did not send is lost.' : ''}
        </p>
        {refusal && <Refused refusal={refusal} />}
        {ends.isFixed ? (
          <button type="button" className="btn" onClick={() => dialog.current?.close()}>
            Close
          </button>
        ) : (
          <button type="button" className="btn main" onClick={stay} autoFocus>
            Stay logged in
          </button>
        )}
      </div>
    </dialog>
  );
}

/** Returns when the session ends by this browser's clock, which may be wrong by hours. */
function endsOf({ idle_at, ends_at, now }: ConsoleSession): Ends {
  const idle = Date.parse(idle_at);
  const end = ends_at === null ? Infinity : Date.parse(ends_at);
  return { at: Math.min(idle, end) - Date.parse(now) + Date.now(), isFixed: end <= idle };
}
