/** SOQL as far as connectors need it: one object, conditions, order, limit. */
import { isFilterable, isNumber, isSortable, isTime, type SalesforceField, type Value } from './salesforce-fields.ts';
import {
  type ObjectType,
  reader,
  type Rows,
  type SalesforceRecords,
  SalesforceRefusal,
  type StoredRecord,
  visibleField,
} from './salesforce-records.ts';

type Holds = (record: StoredRecord) => boolean;
type Order = { field: SalesforceField; isDescending: boolean; nullsLast: boolean };

export type Query = {
  type: ObjectType;
  /** Empty for `COUNT()`. */
  fields: SalesforceField[];
  where: Holds | null;
  order: Order[];
  limit: number;
  /** Bounds of `SystemModstamp` by the conditions, in ms, both included. */
  from: number;
  to: number;
};

const TOKEN = new RegExp(
  [
    String.raw`(?<time>\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d))?)`,
    String.raw`(?<number>-?\d+(?:\.\d+)?)`,
    String.raw`(?<word>[a-z_][\w.]*)`,
    String.raw`'(?<text>(?:[^'\\]|\\.)*)'`,
    '(?<sign><=|>=|!=|<>|[=<>(),])',
  ].join('|'),
  'iy',
);

type Token = { kind: 'time' | 'number' | 'word' | 'text' | 'sign' | 'end'; text: string; at: number };

const KINDS = ['time', 'number', 'word', 'text', 'sign'] as const;
const ESCAPES: Record<string, string> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f', '"': '"', "'": "'", '\\': '\\' };

const malformed = (message: string) => new SalesforceRefusal(400, 'MALFORMED_QUERY', message);

function tokensOf(query: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  for (;;) {
    while (/\s/.test(query[at] ?? '')) at += 1;
    if (at >= query.length) return [...tokens, { kind: 'end', text: '<EOF>', at }];
    TOKEN.lastIndex = at;
    const groups = TOKEN.exec(query)?.groups;
    if (!groups) throw malformed(`line 1:${at} no viable alternative at character '${query[at]}'`);
    const kind = KINDS.find((name) => groups[name] !== undefined)!;
    const text = groups[kind]!.replaceAll(/\\(.)/g, (whole, letter: string) => {
      const plain = ESCAPES[letter];
      if (plain === undefined) throw malformed(`line 1:${at} invalid string escape '${whole}'`);
      return plain;
    });
    tokens.push({ kind, text, at });
    at = TOKEN.lastIndex;
  }
}

/** Reads a query; refuses it as Salesforce does: by its form, the object, or a field that the user may not see. */
export function parseSoql(records: SalesforceRecords, text: string): Query {
  return new Parser(records, text).query();
}

class Parser {
  readonly #records: SalesforceRecords;
  readonly #text: string;
  readonly #tokens: Token[];
  #next = 0;
  #type!: ObjectType;
  #depth = 0;
  #from = -Infinity;
  #to = Infinity;

  constructor(records: SalesforceRecords, text: string) {
    this.#records = records;
    this.#text = text;
    this.#tokens = tokensOf(text);
  }

  query(): Query {
    this.#word('SELECT');
    const selected: Token[] = [];
    const isCount = this.#accepts('COUNT');
    if (isCount) this.#sign('(', ')');
    else
      do selected.push(this.#take('word'));
      while (this.#acceptsSign(','));
    this.#word('FROM');
    this.#type = this.#object(this.#take('word'));
    const fields = selected.map((token) => this.#field(token));
    const twice = fields.find(({ name }, at) => fields.findIndex((other) => other.name === name) < at);
    if (twice) throw new SalesforceRefusal(400, 'INVALID_FIELD', `duplicate field selected: ${twice.name}`);
    const where = this.#accepts('WHERE') ? this.#conditions() : null;
    const order = this.#accepts('ORDER') ? this.#order() : [];
    const limit = this.#accepts('LIMIT') ? Number(this.#take('number').text) : Infinity;
    const last = this.#peek();
    if (last.kind !== 'end') throw malformed(`unexpected token: '${last.text}'`);
    return { type: this.#type, fields, where, order, limit, from: this.#from, to: this.#to };
  }

  #object({ text, at }: Token): ObjectType {
    const type = this.#records.readable(text);
    if (type) return type;
    const hint = "If you are attempting to use a custom object, be sure to append the '__c' after the entity name.";
    const message = `sObject type '${text}' is not supported. ${hint}`;
    throw new SalesforceRefusal(400, 'INVALID_TYPE', this.#located(at, message));
  }

  #field(token: Token): SalesforceField {
    const field = visibleField(this.#type, token.text);
    if (field) return field;
    const hint =
      "If you are attempting to use a custom field, be sure to append the '__c' after the custom field name.";
    const end = 'Please reference your WSDL or the describe call for the appropriate names.';
    const message = `No such column '${token.text}' on entity '${this.#type.name}'. ${hint} ${end}`;
    throw this.#invalidField(token, message);
  }

  /** Conditions of one level are joined by AND or by OR, never by both. */
  #conditions(): Holds {
    const parts = [this.#condition()];
    const joint = this.#accepts('AND') ? 'AND' : this.#accepts('OR') ? 'OR' : null;
    if (!joint) return parts[0]!;
    if (joint === 'OR' && this.#depth === 0) [this.#from, this.#to] = [-Infinity, Infinity];
    // Below an OR nothing that a condition says of the date holds for all.
    if (joint === 'OR') this.#depth += 1;
    do parts.push(this.#condition());
    while (this.#accepts(joint));
    if (joint === 'OR') this.#depth -= 1;
    const other = this.#peek();
    if (other.kind === 'word' && ['AND', 'OR'].includes(other.text.toUpperCase()))
      throw malformed(`unexpected token: '${other.text}'`);
    return joint === 'AND'
      ? (record) => parts.every((holds) => holds(record))
      : (record) => parts.some((holds) => holds(record));
  }

  #condition(): Holds {
    const isNot = this.#accepts('NOT');
    if (isNot || this.#peek().text === '(') {
      this.#depth += 1;
      this.#sign('(');
      const holds = this.#conditions();
      this.#sign(')');
      this.#depth -= 1;
      return isNot ? (record) => !holds(record) : holds;
    }
    const token = this.#take('word');
    const field = this.#field(token);
    if (!isFilterable(field))
      throw this.#invalidField(token, `field '${field.name}' can not be filtered in a query call`);
    const of = comparable(this.#type, field);
    if (this.#accepts('IN')) {
      const values = new Set(this.#list(field));
      return (record) => values.has(of(record));
    }
    if (this.#accepts('NOT')) {
      this.#word('IN');
      const values = new Set(this.#list(field));
      return (record) => !values.has(of(record));
    }
    const sign = this.#take('sign').text;
    if (!['=', '!=', '<>', '<', '<=', '>', '>='].includes(sign)) throw malformed(`unexpected token: '${sign}'`);
    const value = this.#value(field);
    if (field.name === 'SystemModstamp' && this.#depth === 0) this.#bound(sign, Number(value));
    return compares(of, sign, value);
  }

  #bound(sign: string, value: number): void {
    if (['=', '>=', '>'].includes(sign)) this.#from = Math.max(this.#from, sign === '>' ? value + 1 : value);
    if (['=', '<=', '<'].includes(sign)) this.#to = Math.min(this.#to, sign === '<' ? value - 1 : value);
  }

  #list(field: SalesforceField): Value[] {
    this.#sign('(');
    const values: Value[] = [];
    do values.push(this.#value(field));
    while (this.#acceptsSign(','));
    this.#sign(')');
    return values;
  }

  /** Returns a literal as the field's values are compared; refuses one of another type. */
  #value(field: SalesforceField): Value {
    const token = this.#peek();
    this.#next += 1;
    const word = token.kind === 'word' ? token.text.toLowerCase() : '';
    if (word === 'null') return null;
    const wrong = (message: string) => this.#invalidField(token, `value of filter criterion for field ${message}`);
    const name = `'${field.name}'`;
    if (isTime(field)) {
      const time = Date.parse(token.text);
      const isFull = token.text.length > 10;
      if (token.kind !== 'time' || Number.isNaN(time) || isFull !== (field.type === 'datetime'))
        throw wrong(
          `${name} must be of type ${field.type === 'date' ? 'date' : 'dateTime'} and not be enclosed in quotes`,
        );
      return time;
    }
    if (field.type === 'boolean') {
      if (word !== 'true' && word !== 'false') throw wrong(`${name} must be of type boolean and not be quoted`);
      return word === 'true';
    }
    if (isNumber(field)) {
      if (token.kind !== 'number')
        throw wrong(`${name} must be of type ${field.type} and should not be enclosed in quotes`);
      return Number(token.text);
    }
    if (token.kind !== 'text') throw wrong(`${name} must be of type string and should be enclosed in quotes`);
    if (field.type !== 'id' && field.type !== 'reference') return token.text.toLowerCase();
    if (!/^[a-z0-9]{15}(?:[a-z0-9]{3})?$/i.test(token.text))
      throw new SalesforceRefusal(400, 'INVALID_QUERY_FILTER_OPERATOR', this.#located(token.at, 'invalid ID field: '));
    return token.text.slice(0, 15);
  }

  #order(): Order[] {
    this.#word('BY');
    const order: Order[] = [];
    do {
      const token = this.#take('word');
      const field = this.#field(token);
      if (!isSortable(field))
        throw malformed(this.#located(token.at, `field '${field.name}' can not be sorted in a query call`));
      const isDescending = this.#accepts('DESC');
      if (!isDescending) this.#accepts('ASC');
      let nullsLast = false;
      if (this.#accepts('NULLS')) {
        nullsLast = this.#accepts('LAST');
        if (!nullsLast) this.#word('FIRST');
      }
      order.push({ field, isDescending, nullsLast });
    } while (this.#acceptsSign(','));
    return order;
  }

  #invalidField(token: Token, message: string): SalesforceRefusal {
    return new SalesforceRefusal(400, 'INVALID_FIELD', this.#located(token.at, message));
  }

  /** Returns a message as Salesforce lays it out, with the part of the query that it means. */
  #located(at: number, message: string): string {
    const start = Math.max(0, at - 30);
    const part = this.#text.slice(start, at + 20);
    return `\n${part}\n${' '.repeat(at - start)}^\nERROR at Row:1:Column:${at + 1}\n${message}`;
  }

  #peek = () => this.#tokens[this.#next]!;

  #take(kind: Token['kind']): Token {
    const token = this.#peek();
    if (token.kind !== kind) throw malformed(this.#located(token.at, `unexpected token: '${token.text}'`));
    this.#next += 1;
    return token;
  }

  #accepts(word: string): boolean {
    const token = this.#peek();
    const isIt = token.kind === 'word' && token.text.toUpperCase() === word;
    if (isIt) this.#next += 1;
    return isIt;
  }

  #word(word: string): void {
    const token = this.#peek();
    if (!this.#accepts(word)) throw malformed(this.#located(token.at, `unexpected token: '${token.text}'`));
  }

  #acceptsSign(sign: string): boolean {
    const token = this.#peek();
    const isIt = token.kind === 'sign' && token.text === sign;
    if (isIt) this.#next += 1;
    return isIt;
  }

  #sign(...signs: string[]): void {
    for (const sign of signs) {
      const token = this.#peek();
      if (!this.#acceptsSign(sign)) throw malformed(this.#located(token.at, `unexpected token: '${token.text}'`));
    }
  }
}

/** Returns a field's value as it is compared: times in ms, text without case, ids by their first 15 characters. */
function comparable(type: ObjectType, field: SalesforceField): (record: StoredRecord) => Value {
  switch (field.name) {
    case 'SystemModstamp':
      return ({ stamp }) => stamp;
    case 'LastModifiedDate':
      return ({ modified }) => modified;
    case 'CreatedDate':
      return ({ created }) => created;
    case 'Id':
      return ({ id }) => id.slice(0, 15);
  }
  const read = reader(type, field);
  const isId = field.type === 'reference';
  return (record) => {
    const value = read(record);
    if (value === null || typeof value === 'object' || typeof value === 'boolean') return value as Value;
    if (isNumber(field)) return Number(value);
    if (isTime(field)) return Date.parse(String(value));
    return isId ? String(value).slice(0, 15) : String(value).toLowerCase();
  };
}

function compares(of: (record: StoredRecord) => Value, sign: string, value: Value): Holds {
  if (sign === '=') return (record) => of(record) === value;
  if (sign === '!=' || sign === '<>') return (record) => of(record) !== value;
  if (value === null) throw malformed(`operator ${sign} is not valid for null`);
  const holds: Record<string, (given: NonNullable<Value>) => boolean> = {
    '<': (given) => given < value,
    '<=': (given) => given <= value,
    '>': (given) => given > value,
    '>=': (given) => given >= value,
  };
  const compare = holds[sign]!;
  return (record) => {
    const given = of(record);
    return given !== null && compare(given);
  };
}

/** Returns what a query finds, in its order. `isAll`: deleted records as well. */
function runSoql(records: SalesforceRecords, query: Query, isAll: boolean): StoredRecord[] {
  const { type, where, order, limit, from, to } = query;
  const names = order.map(({ field, isDescending }) => `${field.name}${isDescending ? ' desc' : ''}`).join();
  const isByStamp = names === 'SystemModstamp' || names === 'SystemModstamp,Id';
  const isBounded = from > -Infinity || to < Infinity;
  const base =
    type.generated || !(isByStamp || isBounded) ? records.scan(type) : within(records.sorted(type), from, to);
  const isSorted = order.length === 0 || (isByStamp && !type.generated);
  const found: StoredRecord[] = [];
  for (const record of base) {
    if (isSorted && found.length >= limit) break;
    if ((isAll || record.deletedAt === null) && (!where || where(record))) found.push(record);
  }
  if (isSorted) return found;
  const sorted = found.sort(comparison(type, order));
  return limit === Infinity ? sorted : sorted.slice(0, limit);
}

/** Counts what a query finds. */
export function countSoql(records: SalesforceRecords, { type, where, limit }: Query, isAll: boolean): number {
  if (type.generated && !where) return Math.min(limit, type.records.size + type.generated.count);
  let count = 0;
  for (const record of records.scan(type)) {
    if ((isAll || record.deletedAt === null) && (!where || where(record))) count += 1;
    if (count >= limit) break;
  }
  return count;
}

/** Returns what a query finds as rows that show the records as they are when they are read. */
export function rowsOf(records: SalesforceRecords, query: Query, isAll: boolean): Rows {
  const { type, where, order, limit } = query;
  const { generated } = type;
  if (generated && !where && type.records.size === 0 && order.every(({ isDescending }) => !isDescending))
    return {
      length: Math.min(generated.count, limit),
      at: (index) => records.generatedRow(type, generated, index),
    };
  const found = runSoql(records, query, isAll);
  if (generated) return { length: found.length, at: (index) => found[index]! };
  const ids = found.map(({ id }) => id);
  return { length: ids.length, at: (index) => records.visible(type, ids[index]!) };
}

/** Returns the part of a sorted list between two dates, both included. */
function* within(sorted: StoredRecord[], from: number, to: number): Iterable<StoredRecord> {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]!.stamp < from) low = middle + 1;
    else high = middle;
  }
  for (; low < sorted.length && sorted[low]!.stamp <= to; low += 1) yield sorted[low]!;
}

function comparison(type: ObjectType, order: Order[]): (a: StoredRecord, b: StoredRecord) => number {
  const keys = order.map(({ field, isDescending, nullsLast }) => ({
    of: comparable(type, field),
    factor: isDescending ? -1 : 1,
    ofNull: nullsLast ? 1 : -1,
  }));
  return (a, b) => {
    for (const { of, factor, ofNull } of keys) {
      const [left, right] = [of(a), of(b)];
      if (left === right) continue;
      if (left === null) return ofNull;
      if (right === null) return -ofNull;
      return left < right ? -factor : factor;
    }
    return 0;
  };
}
