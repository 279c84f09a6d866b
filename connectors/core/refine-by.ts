import type { z } from 'zod';

/** Returns a check for `superRefine` of a setting: `error` completes a sentence that begins with the setting's name. */
export function refineBy<T>(name: string, error: (value: T) => string | undefined) {
  return (value: T, context: z.RefinementCtx<T>): void => {
    const message = error(value);
    if (message !== undefined) context.addIssue({ code: 'custom', message: `${name} ${message}` });
  };
}
