/** Check of single lines by rules that no other tool has, such as retired words. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Check, Finding } from './check.ts';
import { projectFiles } from './project-files.ts';

type LineRule = { rule: string; files: RegExp; pattern: RegExp; message: string };

const PRODUCT = 'activities|api|bench|checks|cli|connectors|domain|runtime|server|store|temporal|web|workflows';
const PRODUCT_CODE = new RegExp(String.raw`^(?:${PRODUCT})/.*\.tsx?$`);
const RETIRED_WORDS_FILES = new RegExp(
  String.raw`^(?!checks/text\.ts$|docs/benchmarks\.md$)(?:(?:${PRODUCT})/.*\.tsx?|(?:docs/.*|README|SECURITY)\.md)$`,
);

/** Texts that the API or a figure's name fixes. */
const FIXED_TEXTS = [
  'Nobody is invited as',
  'is not whom the userToken names',
  'Say anew whom it means',
  'of which some were written',
  'of which nothing changed',
];

/** Words that make a sentence hard to read. Statuses of refusals and addresses of mail keep `nobody`. */
const RETIRED_WORDS = new RegExp(
  String.raw`^(?!.*(?:${FIXED_TEXTS.join('|')})).*(?:(?<!['\x60])\b[Nn]obody\b(?![@'\x60])|\b(?:whom|[Ww]hoever)\b|` +
    String.raw`\b(?:(?:is|are|was) told|gone on with|to the letter|of whose|so (?:many|long)(?! that\b))\b|` +
    String.raw`(?<!\b(?:any|none|one|some|record) )\bof which\b)`,
  'u',
);

const LINE_RULES: LineRule[] = [
  {
    rule: 'machine-path',
    files: /^(?!test\/|package-lock\.json$|checks\/text\.ts$)/,
    pattern: /(?<![\w.~:/-])\/(?:root|work|tmp|home\/[\w.-]+|Users\/[\w.-]+)[/'"`]/,
    message: 'a path that other machines do not have',
  },
  {
    rule: 'comment-length',
    files: /\.(?:tsx?|js|mjs)$/,
    pattern: /^(?=.{121})\s*(?:\/\/|\/\*|\*)(?! oxlint-disable)/u,
    message: 'a comment longer than 120 characters',
  },
  {
    rule: 'comment-begin',
    files: PRODUCT_CODE,
    pattern: /(?:^|\s)(?:\/\/|\/\*\*?|^\s*\*) *(?:Of|Those|Whose|Whoever|What)\b/,
    message: 'a comment begins with a verb or a noun: name the thing instead of pointing at it',
  },
  {
    rule: 'retired-words',
    files: RETIRED_WORDS_FILES,
    pattern: RETIRED_WORDS,
    message: 'a word that style.md retires: name the thing, and write is, if, while or several',
  },
  {
    rule: 'line-length',
    files: /\.(?:tsx?|js|mjs)$/,
    pattern: /^.{161}/u,
    message: 'longer than 160 characters: break the text or the statement (the formatter breaks code, but no literals)',
  },
  {
    rule: 'raw-columns',
    files: /^store\//,
    pattern: /\.query<\w*Columns\b/,
    message: 'a query gives columns as the database names them: readRow and readRows give them in camel case',
  },
  {
    rule: 'bare-npx',
    files: /^(?!test\/)/,
    pattern: /\bnpx +millrace\b/,
    message:
      'outside of the clone npx asks the public registry, where the name is free: write npx --no-install millrace',
  },
  {
    rule: 'system-temp',
    files: /^(?!test\/|checks\/|bench\/)/,
    pattern: /\btmpdir\b/,
    message:
      "the system's temporary folder is not searched when a person is erased: write to the scratch area (store/core/scratch.ts)",
  },
  { rule: 'clock', files: /^domain\//, pattern: /\bnew Date\(\)/, message: 'a rule has no clock: it is given `now`' },
];
const BINARY = /\.(?:png|jpg|gif|ico|gz|bin|xls|woff2?)$/;

/** Rules on single lines that no other tool knows. */
export const text: Check = {
  name: 'text',

  rules: async () => LINE_RULES.map(({ rule }) => rule),

  async run(root) {
    const files = (await projectFiles(root)).filter((file) => !BINARY.test(file));
    const findings = files.map(async (file) => findInText(file, await readFile(join(root, file), 'utf8')));
    return { findings: (await Promise.all(findings)).flat(), filesLookedAt: files.length };
  },
};

export function findInText(file: string, content: string): Finding[] {
  const rules = LINE_RULES.filter(({ files }) => files.test(file));
  return content
    .split('\n')
    .flatMap((line, index) =>
      rules
        .filter(({ pattern }) => pattern.test(line))
        .map(({ rule, message }) => ({ rule, file, line: index + 1, message })),
    );
}
