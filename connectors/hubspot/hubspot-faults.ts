/** HubSpot's errors about a record, in words of ours: its messages quote values. */
import { z } from 'zod';
import { sayChoices, type WriteOutcome } from '../core/contract.ts';
import { sourceRefusal } from '../core/source-refusal.ts';

const Texts = z.array(z.coerce.string()).optional().catch(undefined);
const Code = z
  .string()
  .regex(/^[A-Z_]{1,64}$/)
  .optional()
  .catch(undefined);
const Name = z.string().optional().catch(undefined);
const Context = z
  .object({ objectWriteTraceId: Texts, ids: Texts, propertyName: Texts, properties: Texts })
  .optional()
  .catch(undefined);
const Detail = z.object({ code: Code, in: Name, name: Name, context: Context });
/** An error: its message is searched for codes and names of properties, and never passed on. */
export const Fault = z.object({
  category: Code,
  context: Context,
  message: Name,
  errors: z.array(Detail).optional().catch(undefined),
});
export type Fault = z.output<typeof Fault>;

/** A fault, and the status of the answer that it came in. */
export type Failing = { fault: Fault; status: number };

/** Categories of faults that lie in HubSpot. */
const LATER = /RATE_LIMIT|INTERNAL|TIMEOUT|UNAVAILABLE|LOCKED/;

/** Refuses an answer that leaves out records for another reason than that HubSpot does not know them. */
export function checkWhole(host: string, errors: readonly Fault[] | null | undefined): void {
  const other = errors?.find(({ category }) => category !== 'OBJECT_NOT_FOUND');
  if (other === undefined) return;
  const said = other.category === undefined ? '' : ` (${other.category})`;
  throw sourceRefusal('source_unavailable', `${host} left out records${said}: it may go better later`);
}

export const isConflict = ({ fault, status }: Failing): boolean => status === 409 || fault.category === 'CONFLICT';

/**
 * The fields that a record has, all properties of its kind and the values that those with choices take, and the field
 * with its id if that is its key.
 */
type Written = {
  fields: readonly string[];
  properties: readonly string[];
  choices: ReadonlyMap<string, readonly string[]>;
  idField: string | null;
};

export function outcomeOfFault(failing: Failing, { fields, properties, choices, idField }: Written): WriteOutcome {
  const { fault, status } = failing;
  const { code: said = status, property } = detailOf(fault, properties);
  const failed = (message: string, more: { field?: string; later?: boolean } = {}, advice = ''): WriteOutcome => ({
    kind: 'failed',
    message: `${message} (${said})${advice}`,
    later: false,
    ...more,
  });
  if (isConflict(failing)) return failed('Another record has its address, or another value that must be unique');
  if (typeof said === 'string' && LATER.test(said)) return failed('HubSpot did not take it now', { later: true });
  if (said === 'OBJECT_NOT_FOUND') {
    return idField === null
      ? failed('HubSpot no longer has it', { later: true })
      : failed('is the id of no record of HubSpot', { field: idField });
  }
  if (property === undefined) return failed('HubSpot does not take it');
  if (fields.includes(property))
    return failed('is not one that HubSpot takes', { field: property }, sayChoices(choices.get(property)));
  return failed(`HubSpot does not take it because of its property ${property}, which it has no value for`);
}

const Invalid = z.array(z.object({ error: Code, name: Name }));

/**
 * Returns the code of a fault, and the property that it names if it is one of `ours`. HubSpot puts both into `errors`,
 * or into a list in JSON at the end of its message (Atlas-Authority/marketing-automation, issue 174).
 */
export function detailOf(fault: Fault, ours: readonly string[]): { code?: string; property?: string } {
  const { category, message = '', errors = [] } = fault;
  const listed = errors.map(({ code, in: where, name, context = {} }) => ({
    code,
    names: [...(context.propertyName ?? []), ...(context.properties ?? []), where, name],
  }));
  const quoted = invalidIn(message).map(({ error, name }) => ({ code: error, names: [name] }));
  for (const { code, names } of [...listed, ...quoted]) {
    const property = names.find((each) => each !== undefined && ours.includes(each));
    if (property !== undefined) return { property, code: code ?? category };
  }
  return { code: listed.find(({ code }) => code !== undefined)?.code ?? category };
}

function invalidIn(message: string): z.output<typeof Invalid> {
  try {
    return Invalid.catch([]).parse(JSON.parse(message.slice(message.indexOf('['))));
  } catch {
    return [];
  }
}
