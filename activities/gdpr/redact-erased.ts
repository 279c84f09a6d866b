/** Removes erased people from the errors of imports, feeds and syncs before these are stored. */
import type { CustomerType } from '../../domain/attributes/customer-id.ts';
import { erasedError, withoutPerson, withoutQuotes } from '../../domain/gdpr/erased-error.ts';
import type { ImportError } from '../../domain/imports/import-error.ts';
import type { Tx } from '../../store/core/database.ts';
import { findErasedTexts } from '../../store/gdpr/erased-texts.ts';
import { findErased, personKey } from '../../store/gdpr/tombstones.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Returns errors of rows, those of erased people reduced to a hash. An error without an id that names a person who is
 * being erased keeps its type and stage. One that could not be searched loses its quotes, and stays open.
 */
export async function redactErased(
  tx: Tx,
  { secrets }: Pick<Dependencies, 'secrets'>,
  entityId: number,
  errors: ImportError[],
  typeOf: (error: ImportError) => CustomerType,
): Promise<ImportError[]> {
  if (errors.length === 0) return errors;
  const personOf = (error: ImportError) => ({
    customerType: typeOf(error),
    customerId: error.customerId ?? firstField(error.raw),
  });
  const erased = await findErased(tx, secrets, entityId, () => errors.map(personOf));
  // An error with an id belongs to that person, whatever it quotes.
  const texts = errors.map(({ customerId, raw, message }) =>
    customerId === null ? [raw ?? '', message].join('\n') : '',
  );
  const named = await findErasedTexts(tx, secrets, entityId, texts, { byWords: false });
  if (erased.size === 0 && named.size === 0) return errors;
  return errors.map((error, index) => {
    const own = erased.get(personKey(personOf(error)));
    if (own !== undefined) return { ...erasedError(error.line, own), column: error.column ?? 0 };
    const hash = named.get(index);
    if (hash === undefined) return error;
    return hash === null ? withoutQuotes(error) : withoutPerson(error, hash);
  });
}

function firstField(raw: string | null): string {
  return /^"?([^",\r\n]*)/.exec(raw ?? '')![1]!;
}
