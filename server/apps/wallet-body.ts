import { z } from 'zod';
import { closestLanguage, isLanguage } from '../../domain/apps/language.ts';
import { isTechnicalName } from '../../domain/apps/technical-name.ts';
import { shorten } from '../../domain/core/text-limits.ts';
import { jsonArray, jsonObject, text } from '../http/input.ts';

/** Titles and the like, in Unicode code points. */
const TITLE_CHARS = 256;
const DESCRIPTION_CHARS = 10_000;
const LEGAL_TEXT_CHARS = 200_000;
const SHOWN_CHARS = 60;

/** A name that callers give and address by (reference: Data wallet records). */
export const technicalName = text()
  .refine(isTechnicalName, 'must hold only lowercase letters (a to z) and underscores')
  .meta({ pattern: '^[a-z_]+$' });

/** A code of ISO 639-1; `quoted` in the message as it was given. */
export function languageFault(code: string): string | null {
  if (isLanguage(code)) return null;
  const closest = closestLanguage(code);
  const hint = closest === null ? ', such as en or fr' : `: did you mean ${closest}?`;
  return `${shorten(code, SHOWN_CHARS)} is no ISO 639-1 code${hint}`;
}

/** A text by language; each language that is none is named. */
function texts(max: number) {
  const byLanguage = z.record(z.string(), text({ max })).check((ctx) => {
    for (const code of Object.keys(ctx.value)) {
      const message = languageFault(code);
      if (message !== null) ctx.issues.push({ code: 'custom', message, path: [shorten(code, SHOWN_CHARS)], input: code });
    }
  });
  return jsonObject(byLanguage).describe('A text by language, each a code of ISO 639-1');
}

export const title = texts(TITLE_CHARS);
export const description = texts(DESCRIPTION_CHARS);
export const legalText = texts(LEGAL_TEXT_CHARS);

/** Shown texts. */
export const Texts = z.record(z.string(), z.string());

/** A list in which no two are the same by `nameOf`, the second one is named at `path` within it; in a web form its JSON. */
export function withoutRepeats<T extends z.ZodType>(
  element: T, { min, max, path, nameOf }: { min?: number; max: number; path: string[]; nameOf: (each: z.output<T>) => string },
) {
  return jsonArray(element, max, min).check((ctx) => {
    const seen = new Set<string>();
    for (const [index, each] of ctx.value.entries()) {
      if (seen.has(nameOf(each))) {
        ctx.issues.push({ code: 'custom', message: 'stands there twice', path: [index, ...path], input: each });
      }
      seen.add(nameOf(each));
    }
  });
}
