import type { Finding } from './check.ts';

/** A mark in a fixture: `breaks <rule>` in a comment, once for each rule that is broken in its file. */
export type Mark = Pick<Finding, 'rule' | 'file'>;

const MARK = /\bbreaks (?<rule>[\w/-]+)/g;

export function marksIn(file: string, content: string): Mark[] {
  return [...content.matchAll(MARK)].flatMap(({ groups }) => (groups?.rule ? [{ rule: groups.rule, file }] : []));
}

/**
 * Returns what is wrong with a check by its run over its fixtures, a sentence each: a rule that no fixture breaks, a
 * broken rule that was not found (or not looked for), and a finding that no fixture asked for.
 */
export function unproven(rules: string[], marks: Mark[], findings: Mark[]): string[] {
  const broken = marks.map(({ rule }) => rule);
  const marked = marks.map(toText);
  const found = findings.map(toText);
  return [
    ...missing(rules, broken).map((rule) => `no fixture breaks ${rule}`),
    ...missing(marked, found).map((mark) => `not found: ${mark}`),
    ...missing(found, marked).map((finding) => `found without a mark: ${finding}`),
  ];
}

/** Returns the members of `all` that are not among `known`, each once. */
function missing(all: string[], known: string[]): string[] {
  return [...new Set(all)].filter((one) => !known.includes(one));
}

const toText = ({ rule, file }: Mark): string => `${rule} in ${file}`;
