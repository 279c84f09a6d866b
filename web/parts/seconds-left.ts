import { useEffect, useState } from 'react';

/** Returns the whole seconds until an instant in milliseconds, counted down as they pass. 0 once it is over. */
export function useSecondsLeft(until: number): number {
  const [left, setLeft] = useState(() => secondsTo(until));
  useEffect(() => {
    const count = (): void => {
      setLeft(secondsTo(until));
      if (secondsTo(until) === 0) clearInterval(timer);
    };
    const timer = setInterval(count, 1_000);
    count();
    return () => clearInterval(timer);
  }, [until]);
  return left;
}

const secondsTo = (until: number): number => Math.max(0, Math.ceil((until - Date.now()) / 1_000));
