/** Languages of ISO 639-1: their codes and English names. */

const CODES = new Set(
  (
    'aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo es et eu fa ff fi fj ' +
    'fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ' +
    'ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ' +
    'ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo ' +
    'xh yi yo za zh zu'
  ).split(' '),
);

/** Codes that were withdrawn, which older systems still send. */
const WITHDRAWN = new Map([
  ['in', 'id'],
  ['iw', 'he'],
  ['ji', 'yi'],
  ['jw', 'jv'],
  ['mo', 'ro'],
  ['sh', 'sr'],
]);

/** Made at first use: it takes 10 ms, and the command line does not need it. */
let english: Intl.DisplayNames | undefined;
/** Languages that Intl names after a language they belong to, or by another name. */
const OWN_LABELS = new Map([
  ['tl', 'Tagalog'],
  ['tw', 'Twi'],
]);

/** Returns whether a code is of ISO 639-1: two lowercase letters, without a region. */
export function isLanguage(code: string): boolean {
  return CODES.has(code);
}

export function languageLabel(code: string): string {
  english ??= new Intl.DisplayNames(['en'], { type: 'language' });
  return OWN_LABELS.get(code) ?? english.of(code)!;
}

/** Returns the code that was probably meant by texts such as `EN` or `en_US`, or a withdrawn code's successor. */
export function closestLanguage(given: string): string | null {
  const primary = given.trim().toLowerCase().split(/[-_]/, 1)[0]!;
  return isLanguage(primary) ? primary : (WITHDRAWN.get(primary) ?? null);
}
