import type { z } from 'zod';

/** For `superRefine` of a setting: what `error` says against a value, put behind the setting's name. */
export function refineBy<T>(name: string, error: (value: T) => string | undefined) {
  return (value: T, context: z.RefinementCtx<T>): void => {
    const message = error(value);
    if (message !== undefined) context.addIssue({ code: 'custom', message: `${name} ${message}` });
  };
}
