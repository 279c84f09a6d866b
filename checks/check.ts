/** A fault that a check finds in a file; `rule` is the name that the tool itself gives. */
export type Finding = { rule: string; file: string; line?: number; message: string };

export type Report = {
  findings: Finding[];
  /** How many files were looked at, where the tool says so. */
  filesLookedAt?: number;
};

/**
 * One tool with its rules. It runs over the project and, in the same way, over `checks/fixtures/<name>/`,
 * a small tree with the project's folders in which every rule is broken.
 */
export type Check = {
  name: string;
  /** Each has to be broken by a fixture. */
  rules(): Promise<string[]>;
  /** Looks at the tree under `root`, a path relative to the project's; throws when the tool itself fails. */
  run(root: string): Promise<Report>;
};

export const fixturesOf = (name: string): string => `checks/fixtures/${name}`;
