/** Check by the TypeScript compiler. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Check, Finding } from './check.ts';
import { runTool } from './run-tool.ts';

type Tsconfig = { compilerOptions: Record<string, unknown> };

const DIAGNOSTIC = /^(?<file>[^(\s][^(]*)\((?<line>\d+),\d+\): error (?<rule>TS\d+): (?<message>.*)$/;

/** Error codes of each option of tsconfig.json that demands more than the language does. */
const CODES: Record<string, string[]> = {
  strict: ['TS2322', 'TS7006', 'TS18047'],
  noUncheckedIndexedAccess: ['TS18048'],
  noImplicitOverride: ['TS4114'],
  noFallthroughCasesInSwitch: ['TS7029'],
  noUnusedLocals: ['TS6133'],
  noUnusedParameters: ['TS6133'],
  verbatimModuleSyntax: ['TS1484'],
  erasableSyntaxOnly: ['TS1294'],
};
/** Options that allow, or say how to run. */
/** Code of browsers, with types of its own. */
const PAGES = 'web';
const NO_RULES = ['allowImportingTsExtensions', 'noEmit', 'skipLibCheck', 'resolveJsonModule'];

export const typescript: Check = {
  name: 'typescript',

  async rules() {
    const { compilerOptions } = JSON.parse(await readFile('tsconfig.json', 'utf8')) as Tsconfig;
    return Object.entries(compilerOptions)
      .filter(([option, value]) => value === true && !NO_RULES.includes(option))
      .flatMap(([option]) => CODES[option] ?? [option]);
  },

  async run(root) {
    const projects = existsSync(join(root, PAGES)) ? ['.', PAGES] : ['.'];
    const outputs = await Promise.all(
      projects.map((project) => runTool('tsc', ['--noEmit', '--pretty', 'false', '--listFiles', '-p', project], root)),
    );
    const lines = outputs.flatMap((output) => output.split('\n'));
    const findings = lines.flatMap((line): Finding[] => {
      const { file, line: at, rule, message } = DIAGNOSTIC.exec(line)?.groups ?? {};
      return file && rule && message ? [{ rule, file, line: Number(at), message }] : [];
    });
    const isWithoutPlace = lines.find((line) => /^error TS\d+/.test(line));
    if (isWithoutPlace) throw new Error(isWithoutPlace);
    const files = new Set(lines.filter((line) => /\.tsx?$/.test(line) && !line.includes('/node_modules/')));
    return { findings, filesLookedAt: files.size };
  },
};
