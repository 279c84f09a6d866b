/** Runs all checks over a copy of the project, and prints their findings. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Check, type Finding, fixturesOf } from './check.ts';
import { CHECKS } from './checks.ts';
import { dependencyCruiser } from './dependency-cruiser.ts';
import { marksIn, unproven } from './marks.ts';
import { oxlint } from './oxlint.ts';
import { copyProject, projectFiles } from './project-files.ts';
import { typescript } from './typescript.ts';

/** Tools that read code: one that looks at fewer files than there are checks less than it seems to. */
const READ_CODE = new Map([
  [typescript, /\.tsx?$/],
  [oxlint, /\.tsx?$/],
  [dependencyCruiser, /\.ts$/],
]);

type Outcome = { errors: string[]; filesLookedAt?: number; rules: number };

const start = performance.now();
const copy = await copyProject(join(import.meta.dirname, '..'));
try {
  process.chdir(copy.path);
  const failed = await runAll();
  console.log(
    failed.length === 0
      ? `${CHECKS.length} checks passed in ${seconds(start)}`
      : `${failed.length} of ${CHECKS.length} checks failed in ${seconds(start)}: ${failed.join(', ')}`,
  );
  process.exitCode = failed.length === 0 ? 0 : 1;
} finally {
  await copy.remove();
}

/** Returns the names of the checks that failed. */
async function runAll(): Promise<string[]> {
  const files = await projectFiles('.');
  const failed: string[] = [];
  for (const check of CHECKS) {
    const began = performance.now();
    const { errors, filesLookedAt, rules } = await outcomeOf(check, files);
    const counts = `${filesLookedAt === undefined ? '' : `${filesLookedAt} files, `}${rules} rules proved`;
    const verdict = errors.length === 0 ? 'ok  ' : 'FAIL';
    console.log(`${verdict}  ${check.name.padEnd(20)}${counts.padEnd(30)}${seconds(began)}`);
    for (const error of errors) console.log(`      ${error}`);
    if (errors.length > 0) failed.push(check.name);
  }
  return failed;
}

async function outcomeOf(check: Check, files: readonly string[]): Promise<Outcome> {
  try {
    const [rules, { findings, filesLookedAt }, unprovenRules] = await Promise.all([
      check.rules(),
      check.run('.'),
      proof(check),
    ]);
    const code = READ_CODE.get(check);
    const codeFiles = code ? files.filter((file) => code.test(file)).length : 0;
    const isShort = (filesLookedAt ?? 0) < codeFiles;
    return {
      errors: [
        ...findings.map(toLine),
        ...unprovenRules.map((error) => `${fixturesOf(check.name)}: ${error}`),
        ...(isShort ? [`looked at ${filesLookedAt} files of ${codeFiles}`] : []),
      ],
      filesLookedAt,
      rules: new Set(rules).size,
    };
  } catch (error) {
    return { errors: [error instanceof Error ? error.message : String(error)], rules: 0 };
  }
}

/** Runs the check where every rule is broken, and says which it let pass. */
async function proof(check: Check): Promise<string[]> {
  const root = fixturesOf(check.name);
  const [files, rules, { findings }] = await Promise.all([projectFiles(root), check.rules(), check.run(root)]);
  const marks = await Promise.all(files.map(async (file) => marksIn(file, await readFile(join(root, file), 'utf8'))));
  return unproven(rules, marks.flat(), findings);
}

function toLine({ file, line, rule, message }: Finding): string {
  return `${file}${line === undefined ? '' : `:${line}`}  ${message}  (${rule})`;
}

function seconds(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}
