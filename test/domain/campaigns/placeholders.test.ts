import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseExactJson } from '../../../domain/json/exact-json.ts';
import {
  compileTemplate,
  isProfileName,
  joinPlaceholders,
  readProfileName,
  type TemplateVars,
} from '../../../domain/campaigns/placeholders.ts';
import { cpuTime } from '../../harness/core/cpu-time.ts';

function render(text: string, vars: TemplateVars) {
  const missing = new Set<string>();
  const rendered = compileTemplate(text).render(vars, missing);
  return missing.size === 0 ? rendered : Array.from(missing);
}

const VARS = {
  a: '1',
  b: '',
  c: null,
  d: { deep: true },
  'x.y-z_0': 'joined',
  prénom: 'Zoé',
  名: 'Mei',
  toString: 'own',
};

it.for<[string, string | string[]]>([
  ['*@a@*', '1'],
  ['Hello *@prénom@*, *@名@*!', 'Hello Zoé, Mei!'],
  ['*@a@**@a@*', '11'],
  ['*@*@a@*@*', '*@1@*'],
  ['*@a@*@b@*', '1@b@*'],
  ['*@x.y-z_0@*', 'joined'],
  ['<*@b@*>', '<>'],
  ['<*@b|there@*>', '<>'],
  ['*@c|there@*', 'there'],
  ['*@d|there@*', 'there'],
  ['*@none|@*', ''],
  ['*@none|a|b@c*d@*', 'a|b@c*d'],
  ['*@none|5 *@*', '5 *'],
  ['*@none|line\nbreak@*', 'line\nbreak'],
  ['*@toString@*', 'own'],
  ['*@none@* *@c@* *@none@* *@d@*', ['none', 'c', 'd']],
  ['*@hasOwnProperty@*', ['hasOwnProperty']],
  ['*@__proto__@*', ['__proto__']],
  ['*@none|to *@a@*', '*@none|to 1'],
])('%j reads %j', ([text, expected]) => {
  expect(render(text, VARS)).toEqual(expected);
});

it.for([
  '',
  '*',
  '*@',
  '*@@*',
  '@*',
  '*@a',
  '*@a@',
  '*@a *',
  '*@a b@*',
  '* @a@*',
  '*@|x@*',
  '*@a/b@*',
  '*@a|x',
  `*@${'n'.repeat(65)}@*`,
])('%j holds no placeholder, and stays', (text) => {
  expect(compileTemplate(text).placeholders).toEqual([]);
  expect(render(text, VARS)).toBe(text);
});

it('a name of 64 characters is one', () => {
  const name = 'n'.repeat(64);
  expect(render(`*@${name}@*`, { [name]: 'x' })).toBe('x');
});

it.for(['9007199254740993', '1.50', '1e3', '-0', '0', '12345678901234567890.12345678901234567890'])(
  '%s keeps its digits',
  (digits) => {
    expect(render('*@n@*', parseExactJson(`{"n": ${digits}}`) as TemplateVars)).toBe(digits);
  },
);

it('true and false are values', () => {
  expect(render('*@yes@* *@no|default@*', { yes: true, no: false })).toBe('true false');
});

it('a name with sor: takes a profile value, whatever the key of the attribute is', () => {
  const text = '*@sor:sor_x.first name|there@* *@sor:sor_x.a.b@* *@sor:sor_x@* *@sor:a*@a@*';
  const { placeholders } = compileTemplate(text);
  expect(placeholders).toEqual([
    { name: 'sor:sor_x.first name', hasDefault: true },
    { name: 'sor:sor_x.a.b', hasDefault: false },
    { name: 'sor:sor_x', hasDefault: false },
    { name: 'a', hasDefault: false },
  ]);
  expect(placeholders.map((placeholder) => isProfileName(placeholder.name))).toEqual([true, true, true, false]);
  expect(readProfileName('sor:sor_x.a.b')).toEqual({ sor: 'sor_x', key: 'a.b' });
  expect(readProfileName('sor:sor_x')).toBeNull();
});

const name = fc.stringMatching(/^[A-Za-z0-9_.-]{1,8}$/);
const literal = fc.string().filter((text) => !/[*@]/.test(text));
const value = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null));
const piece = fc.oneof(
  literal.map((text) => ({ text })),
  fc.record({ name, otherwise: fc.option(literal) }),
);

it('a text is its pieces with values, defaults or missing names in their place', () => {
  fc.assert(
    fc.property(fc.array(piece), fc.dictionary(name, value), (pieces, vars) => {
      const missing: string[] = [];
      const text = pieces
        .map((part) =>
          'text' in part ? part.text : `*@${part.name}${part.otherwise === null ? '' : `|${part.otherwise}`}@*`,
        )
        .join('');
      const expected = pieces
        .map((part) => {
          if ('text' in part) return part.text;
          const given = Object.hasOwn(vars, part.name) ? vars[part.name] : null;
          if (given !== null && given !== undefined) return String(given);
          if (part.otherwise === null) missing.push(part.name);
          return part.otherwise;
        })
        .join('');
      expect(render(text, vars)).toEqual(missing.length === 0 ? expected : [...new Set(missing)]);
      const named = pieces.flatMap((part) =>
        'text' in part ? [] : [{ name: part.name, hasDefault: part.otherwise !== null }],
      );
      expect(compileTemplate(text).placeholders).toEqual(joinPlaceholders(named));
      for (const { name: one, hasDefault } of joinPlaceholders(named)) {
        expect(hasDefault).toBe(named.every((other) => other.name !== one || other.hasDefault));
      }
    }),
  );
});

it('a value is never read as a placeholder itself, and any text can be compiled', () => {
  const odd = fc.array(fc.constantFrom('*', '@', '*@', '@*', '|', 'a', 'b', ' ')).map((parts) => parts.join(''));
  fc.assert(
    fc.property(odd, odd, (text, given) => {
      const { placeholders } = compileTemplate(text);
      const marked = Object.fromEntries(placeholders.map((placeholder) => [placeholder.name, '\u0001']));
      const rendered = render(text, marked) as string;
      expect(render(text, Object.fromEntries(placeholders.map((placeholder) => [placeholder.name, given])))).toBe(
        rendered.replaceAll('\u0001', () => given),
      );
    }),
  );
});

it.for(['*@a|', '*@a', '*@', '*@a|x@*', '|@'])('a long text of %j is read in a moment', (part) => {
  const text = part.repeat(200_000);
  // It is not searched to its end for each part.
  expect(cpuTime(() => compileTemplate(text))).toBeLessThan(1_000);
});
