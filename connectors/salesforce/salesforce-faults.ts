/** Salesforce's errors: their codes and names of fields are read; their messages quote values and are not passed on. */
import { z } from 'zod';

const Code = z
  .string()
  .regex(/^[A-Z_]{1,64}$/)
  .optional()
  .catch(undefined);
/** An error of a call (`errorCode`) or of a record in a collection (`statusCode`). */
const Fault = z
  .object({
    errorCode: Code,
    statusCode: Code,
    message: z.string().optional().catch(undefined),
    fields: z.array(z.string()).nullish().catch(undefined),
  })
  .transform(({ errorCode, statusCode, message, fields }) => ({
    code: errorCode ?? statusCode,
    message,
    fields: fields ?? [],
  }));
export type Fault = z.output<typeof Fault>;
export const Faults = z.array(Fault);

/** Returns the faults of an error body; none if it is of another form. */
export function faultsOf(json: unknown): Fault[] {
  return Faults.catch([]).parse(json);
}

export const codesOf = (faults: readonly Fault[]): string[] => faults.flatMap(({ code }) => code ?? []);
