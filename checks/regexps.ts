/** Check of regular expressions: none takes more than linear time. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Argument, type CallExpression, type NewExpression, parseSync, type Program, Visitor } from 'oxc-parser';
import { check, type Diagnostics, type Parameters } from 'recheck';
import type { Check, Finding } from './check.ts';
import { projectFiles } from './project-files.ts';

type Expression = { file: string; line: number; source: string; flags: string };

/** Tests and the benchmark read nothing from outside. */
const FILES = /^(?!test\/|bench\/).*\.(?:ts|mjs|js)$/;

/**
 * The search for a worst case ends after a number of steps instead of a time, so a busy machine finds the same. Over a
 * text of 4,000 characters a quadratic expression takes four times as many steps as it may, and a linear one far fewer.
 */
const LIMITS: Parameters = {
  timeout: null,
  seedingTimeout: null,
  incubationTimeout: null,
  attackTimeout: null,
  attackLimit: 2_000_000,
  maxAttackStringSize: 4_000,
  maxIteration: 3,
};

/** The time that a regular expression takes grows no faster than its text, whatever the text. */
export const regexps: Check = {
  name: 'regexps',

  rules: async () => ['super-linear', 'not-understood'],

  async run(root) {
    const files = (await projectFiles(root)).filter((file) => FILES.test(file));
    const expressions = await Promise.all(
      files.map(async (file) => regexpsIn(file, await readFile(join(root, file), 'utf8'))),
    );
    return { findings: await judgeAll(expressions.flat()), filesLookedAt: files.length };
  },
};

/**
 * Its literals, and what `RegExp` is given as text; parts of such a text that another file or the run brings stay
 * unknown.
 */
export function regexpsIn(file: string, code: string): Expression[] {
  const { program, errors } = parseSync(file, code);
  if (errors[0]) throw new Error(`${file}: ${errors[0].message}`);
  const found: Expression[] = [];
  const add = (start: number, source: string, flags: string) =>
    found.push({ file, line: code.slice(0, start).split('\n').length, source, flags });
  const constants = constantsOf(program);
  const addConstructed = (node: NewExpression | CallExpression) => {
    if (node.callee.type !== 'Identifier' || node.callee.name !== 'RegExp') return;
    const [source, flags] = node.arguments.map((argument) => textOf(argument, constants));
    if (source !== undefined) add(node.start, source, flags ?? '');
  };
  new Visitor({
    Literal: (node) => {
      if ('regex' in node) add(node.start, node.regex.pattern, node.regex.flags);
    },
    NewExpression: addConstructed,
    CallExpression: addConstructed,
  }).visit(program);
  return found;
}

/** The texts that the file names at its top. */
function constantsOf({ body }: Program): Map<string, string> {
  const constants = new Map<string, string>();
  for (const node of body) {
    if (node.type !== 'VariableDeclaration' || node.kind !== 'const') continue;
    for (const { id, init } of node.declarations) {
      const text = textOf(init ?? undefined, constants);
      if (id.type === 'Identifier' && text !== undefined) constants.set(id.name, text);
    }
  }
  return constants;
}

function textOf(node: Argument | undefined, constants: Map<string, string>): string | undefined {
  if (node === undefined) return undefined;
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : undefined;
  if (node.type === 'Identifier') return constants.get(node.name);
  const isRaw = node.type === 'TaggedTemplateExpression';
  const template = isRaw ? node.quasi : node;
  if (template.type !== 'TemplateLiteral') return undefined;
  const parts = template.expressions.map((expression) => textOf(expression, constants));
  if (parts.includes(undefined)) return undefined;
  const texts = template.quasis.map(({ value }) => (isRaw ? value.raw : (value.cooked ?? '')));
  return texts.map((text, index) => text + (parts[index] ?? '')).join('');
}

/** Two at a time: each one at work has a process of its own. */
async function judgeAll(expressions: Expression[]): Promise<Finding[]> {
  const findings: Finding[] = [];
  const waiting = expressions.values();
  const work = async () => {
    for (const expression of waiting) findings.push(...(await judge(expression)));
  };
  await Promise.all([work(), work()]);
  return findings;
}

async function judge({ file, line, source, flags }: Expression): Promise<Finding[]> {
  const diagnostics = await check(source, flags, LIMITS);
  if (diagnostics.status === 'safe') return [];
  const rule = diagnostics.status === 'vulnerable' ? 'super-linear' : 'not-understood';
  return [{ rule, file, line, message: `/${source}/${flags} ${said(diagnostics)}` }];
}

function said(diagnostics: Exclude<Diagnostics, { status: 'safe' }>): string {
  if (diagnostics.status === 'vulnerable')
    return `takes ${diagnostics.complexity.summary} time for ${diagnostics.attack.pattern}`;
  const { error } = diagnostics;
  return `cannot be judged: ${'message' in error ? error.message : error.kind}`;
}
