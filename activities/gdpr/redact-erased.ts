/** Removes erased people from the errors of imports, feeds and syncs before these are stored. */
import type { CustomerType } from '../../domain/attributes/customer-id.ts';
import { ERASED } from '../../domain/core/erased.ts';
import { erasedError } from '../../domain/gdpr/erased-error.ts';
import { possibleIds } from '../../domain/gdpr/ids-in-text.ts';
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

/** Returns the error of a row that names an erased person, with nothing about the person. */
function withoutPerson(error: ImportError, customerHash: Uint8Array): ImportError {
  return { ...error, message: ERASED, customerId: null, attributeKey: null, raw: null, customerHash };
}

/** The message in place of one that quotes a row that could not be searched. */
const NOT_KEPT = 'the reason quotes the row, and is not kept: too many people were being erased to search it for them';

/** Returns the error of a row that could not be searched for people, without quotes of the row. */
function withoutQuotes(error: ImportError): ImportError {
  const words = possibleIds(error.raw ?? '', Infinity);
  const quotes = [...possibleIds(error.message, Infinity)].some((word) => words.has(word));
  return { ...error, message: quotes ? NOT_KEPT : error.message, attributeKey: null, raw: null };
}
