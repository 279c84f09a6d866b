/** Takes a turn, first come, first served; what it gives back ends it. */
export type Semaphore = () => Promise<() => void>;

/** At most `atOnce` turns at a time. */
export function semaphore(atOnce: number): Semaphore {
  let free = atOnce;
  const waiting: (() => void)[] = [];
  const pass = () => {
    const next = waiting.shift();
    if (next) next();
    else free += 1;
  };
  return async () => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => { waiting.push(resolve); });
    let isOver = false;
    return () => {
      if (!isOver) pass();
      isOver = true;
    };
  };
}
