import type { z } from 'zod';

/** For `superRefine` of a setting: what `fault` has against a value, put behind the setting's name. */
export function refineBy<T>(name: string, fault: (value: T) => string | undefined) {
  return (value: T, context: z.RefinementCtx<T>): void => {
    const message = fault(value);
    if (message !== undefined) context.addIssue({ code: 'custom', message: `${name} ${message}` });
  };
}
