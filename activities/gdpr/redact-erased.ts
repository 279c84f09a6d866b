import { CUSTOMER_TYPES } from '../../domain/attributes/customer-id.ts';
import { erasedError } from '../../domain/gdpr/erased-error.ts';
import type { ImportError } from '../../domain/imports/import-error.ts';
import type { Tx } from '../../store/core/database.ts';
import { findErased, personKey } from '../../store/gdpr/tombstones.ts';
import type { Dependencies } from '../dependencies.ts';

/** The errors of rows, those of erased people told as such: a row is no less theirs for being a bad one. */
export async function redactErased(
  tx: Tx, { secrets }: Pick<Dependencies, 'secrets'>, entityId: number, errors: ImportError[],
): Promise<ImportError[]> {
  if (errors.length === 0) return errors;
  const people = (error: ImportError) => {
    const customerId = error.customerId ?? firstField(error.raw);
    return CUSTOMER_TYPES.map((customerType) => ({ customerType, customerId }));
  };
  const erased = await findErased(tx, secrets, entityId, () => errors.flatMap(people));
  if (erased.size === 0) return errors;
  return errors.map((error) => {
    const hash = people(error).map((person) => erased.get(personKey(person))).find((found) => found !== undefined);
    return hash ? erasedError(error.line, hash) : error;
  });
}

/** As far as can be told of a record that nobody could read. */
function firstField(raw: string | null): string {
  return /^"?([^",\r\n]*)/.exec(raw ?? '')![1]!;
}
