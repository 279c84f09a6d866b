/**
 * Takes a turn, first come, first served; what it gives back ends it. If no turn is free it calls `onWait`, and waits for that, too.
 */
export type Semaphore = (onWait?: () => Promise<void>) => Promise<() => void>;

/** At most `atOnce` turns at a time. */
export function semaphore(atOnce: number): Semaphore {
  let free = atOnce;
  const waiting: (() => void)[] = [];
  const pass = () => {
    const next = waiting.shift();
    if (next) next();
    else free += 1;
  };
  return async (onWait) => {
    if (free > 0) free -= 1;
    else await waitInLine(waiting, pass, onWait);
    let isOver = false;
    return () => {
      if (!isOver) pass();
      isOver = true;
    };
  };
}

/** `pass`: gives a turn on that is not used, since `onWait` failed. */
async function waitInLine(waiting: (() => void)[], pass: () => void, onWait?: () => Promise<void>): Promise<void> {
  const turn = new Promise<void>((resolve) => { waiting.push(resolve); });
  try {
    await onWait?.();
  } catch (error) {
    void turn.then(pass);
    throw error;
  }
  await turn;
}
