import {
  condition,
  continueAsNew,
  defineSignal,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';

/** How long a workflow waits without work before it ends; the next change starts it again. */
const IDLE = '10 seconds';

/** Number of steps after which it continues as new, so that no history grows long. */
const STEPS_OF_A_RUN = 50;

type Work = {
  signal: string;
  /** Plural, in the current details. */
  of: string;
  doing: string;
  /** Returns whether there was nothing to do. */
  step(): Promise<boolean>;
};

/** Repeats a step of an entity until there is nothing to do, and no signal of more work comes for a while. */
export async function untilIdle(entityId: number, { signal, of, doing, step }: Work): Promise<void> {
  let isDue = true;
  setHandler(defineSignal(signal), () => {
    isDue = true;
  });
  for (let steps = 1; isDue; steps += 1) {
    isDue = false; // a signal from here on counts
    setCurrentDetails(`${doing} (step ${steps} of this run)`);
    const isIdle = await step();
    if (steps === STEPS_OF_A_RUN || workflowInfo().continueAsNewSuggested) return continueAsNew(entityId);
    setCurrentDetails(`Waiting ${IDLE} for more ${of}`);
    if (isIdle) await condition(() => isDue, IDLE);
    else isDue = true;
  }
}
