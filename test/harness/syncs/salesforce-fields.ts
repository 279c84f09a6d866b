/** Fields of Salesforce's objects: the standard ones, as `describe` shows them, and their values in JSON and CSV. */

/** Numbers may be text, which answers repeat digit by digit. */
export type Value = string | number | boolean | null;
export type Values = Record<string, Value>;

type FieldType =
  | 'address'
  | 'base64'
  | 'boolean'
  | 'currency'
  | 'date'
  | 'datetime'
  | 'double'
  | 'email'
  | 'id'
  | 'int'
  | 'location'
  | 'multipicklist'
  | 'percent'
  | 'phone'
  | 'picklist'
  | 'reference'
  | 'string'
  | 'textarea'
  | 'url';

/** A field as a test defines it. */
export type SalesforceField = {
  name: string;
  type: FieldType;
  label?: string;
  /** Maximum of characters; 255 without it. */
  length?: number;
  /** Digits of a number: all (18 without it), and behind the point. */
  precision?: number;
  scale?: number;
  required?: boolean;
  filterable?: boolean;
  sortable?: boolean;
  /** A formula: `recalculate` changes it, and moves no date. */
  calculated?: boolean;
  readOnly?: boolean;
  externalId?: boolean;
  unique?: boolean;
  /** Upserts find records by it though it is no external id, as by the address of a contact. */
  idLookup?: boolean;
  /** Whether values of an external id differ by case. */
  caseSensitive?: boolean;
  compoundFieldName?: string;
  nameField?: boolean;
  referenceTo?: string[];
  picklist?: string[];
  /** Refuses values that `picklist` lacks. */
  restricted?: boolean;
};

const NUMBERS: readonly FieldType[] = ['int', 'double', 'currency', 'percent'];
const COMPOUNDS: readonly FieldType[] = ['address', 'location'];

export const isNumber = ({ type }: SalesforceField) => NUMBERS.includes(type);
export const isCompound = ({ type }: SalesforceField) => COMPOUNDS.includes(type);
export const isTime = ({ type }: SalesforceField) => type === 'datetime' || type === 'date';
export const isReadOnly = (field: SalesforceField) =>
  field.readOnly === true || field.calculated === true || field.type === 'id' || isCompound(field);

export const isFilterable = (field: SalesforceField) =>
  field.filterable ?? (field.type !== 'textarea' && field.type !== 'base64' && field.type !== 'address');
export const isSortable = (field: SalesforceField) =>
  field.sortable ?? (isFilterable(field) && field.type !== 'multipicklist' && !isCompound(field));

const text = (name: string, more: Partial<SalesforceField> = {}): SalesforceField => ({
  name,
  type: 'string',
  ...more,
});
const own = (name: string, type: FieldType): SalesforceField => ({ name, type, readOnly: true });

export const SYSTEM_FIELDS: SalesforceField[] = [
  own('Id', 'id'),
  own('IsDeleted', 'boolean'),
  own('CreatedDate', 'datetime'),
  own('LastModifiedDate', 'datetime'),
  own('SystemModstamp', 'datetime'),
];
const MASTER: SalesforceField = { ...own('MasterRecordId', 'reference'), referenceTo: ['Self'] };

const PERSON: SalesforceField[] = [
  MASTER,
  text('LastName', { length: 80, required: true, compoundFieldName: 'Name' }),
  text('FirstName', { length: 40, compoundFieldName: 'Name' }),
  { ...text('Name'), readOnly: true, nameField: true },
  { name: 'Email', type: 'email', length: 80, idLookup: true },
  { name: 'Phone', type: 'phone', length: 40 },
  text('Title', { length: 128 }),
  { name: 'LeadSource', type: 'picklist', picklist: ['Web', 'Phone Inquiry', 'Partner Referral', 'Other'] },
  { name: 'Description', type: 'textarea', length: 32_000 },
];

/** Returns an address with its parts, as Salesforce has it on its own objects. */
function address(prefix: string): SalesforceField[] {
  const compoundFieldName = `${prefix}Address`;
  const part = (name: string, more: Partial<SalesforceField> = {}): SalesforceField => ({
    ...text(`${prefix}${name}`, { compoundFieldName }),
    ...more,
  });
  return [
    part('Street', { type: 'textarea' }),
    part('City', { length: 40 }),
    part('State', { length: 80 }),
    part('PostalCode', { length: 20 }),
    part('Country', { length: 80 }),
    part('Latitude', { type: 'double', precision: 18, scale: 15 }),
    part('Longitude', { type: 'double', precision: 18, scale: 15 }),
    { name: compoundFieldName, type: 'address', readOnly: true },
  ];
}

/** The standard objects that are played, and the first three characters of their ids. */
export const STANDARD_OBJECTS: { name: string; prefix: string; fields: SalesforceField[] }[] = [
  {
    name: 'Account',
    prefix: '001',
    fields: [
      MASTER,
      text('Name', { required: true, nameField: true }),
      { name: 'Phone', type: 'phone', length: 40 },
      { name: 'Website', type: 'url' },
      { name: 'Industry', type: 'picklist', picklist: ['Banking', 'Energy', 'Retail', 'Technology'] },
      { name: 'AnnualRevenue', type: 'currency', precision: 18, scale: 0 },
      { name: 'NumberOfEmployees', type: 'int', precision: 8 },
      ...address('Billing'),
      { name: 'Description', type: 'textarea', length: 32_000 },
    ],
  },
  {
    name: 'Contact',
    prefix: '003',
    fields: [
      ...PERSON,
      { name: 'AccountId', type: 'reference', referenceTo: ['Account'] },
      { name: 'Birthdate', type: 'date' },
      { name: 'HasOptedOutOfEmail', type: 'boolean' },
      ...address('Mailing'),
    ],
  },
  {
    name: 'Lead',
    prefix: '00Q',
    fields: [
      ...PERSON,
      text('Company', { required: true }),
      { name: 'Status', type: 'picklist', picklist: ['Open', 'Working', 'Closed'] },
      { name: 'IsConverted', type: 'boolean', readOnly: true },
    ],
  },
];

const SOAP: Partial<Record<FieldType, string>> = {
  address: 'urn:address',
  base64: 'xsd:base64Binary',
  boolean: 'xsd:boolean',
  date: 'xsd:date',
  datetime: 'xsd:dateTime',
  id: 'tns:ID',
  int: 'xsd:int',
  location: 'urn:location',
  reference: 'tns:ID',
};

/** Returns a field as `describe` shows it. */
export function describedField(field: SalesforceField) {
  const { name, type, label = name, picklist = [], compoundFieldName = null, referenceTo = [] } = field;
  const isDouble = isNumber(field) && type !== 'int';
  const hasLength = !isNumber(field) && !isTime(field) && type !== 'boolean' && !isCompound(field);
  const isWritable = !isReadOnly(field);
  return {
    name,
    label,
    type,
    length: type === 'id' || type === 'reference' ? 18 : hasLength ? (field.length ?? 255) : 0,
    precision: isDouble ? (field.precision ?? 18) : 0,
    digits: type === 'int' ? (field.precision ?? 8) : 0,
    scale: isDouble ? (field.scale ?? 2) : 0,
    soapType: SOAP[type] ?? (isDouble ? 'xsd:double' : 'xsd:string'),
    nillable: type !== 'boolean' && type !== 'id' && !(field.required ?? false),
    defaultedOnCreate: type === 'boolean' || SYSTEM_FIELDS.some((system) => system.name === name),
    filterable: isFilterable(field),
    sortable: isSortable(field),
    groupable: isFilterable(field) && !isNumber(field),
    aggregatable: isFilterable(field),
    calculated: field.calculated ?? false,
    createable: isWritable,
    updateable: isWritable,
    custom: name.endsWith('__c') || name.endsWith('__s'),
    externalId: field.externalId ?? false,
    unique: field.unique ?? false,
    idLookup: type === 'id' || (field.idLookup ?? field.externalId ?? false),
    caseSensitive: field.caseSensitive ?? false,
    compoundFieldName,
    nameField: field.nameField ?? false,
    autoNumber: false,
    encrypted: false,
    permissionable: !SYSTEM_FIELDS.some((system) => system.name === name) && !(field.required ?? false),
    deprecatedAndHidden: false,
    htmlFormatted: false,
    inlineHelpText: null,
    defaultValue: type === 'boolean' ? false : null,
    polymorphicForeignKey: false,
    referenceTo,
    relationshipName: type === 'reference' ? name.replace(/Id$/, '').replace(/__c$/, '__r') : null,
    restrictedPicklist: field.restricted ?? false,
    picklistValues: picklist.map((value) => ({
      active: true,
      defaultValue: false,
      label: value,
      validFor: null,
      value,
    })),
  };
}

/** Returns a time as Salesforce writes it: `2026-01-01T00:00:00.000+0000`. */
export function timeText(ms: number): string {
  // Many records in a row share their dates.
  if (ms !== lastTime.ms) lastTime = { ms, text: new Date(ms).toISOString().replace('Z', '+0000') };
  return lastTime.text;
}
let lastTime = { ms: 0, text: '1970-01-01T00:00:00.000+0000' };

/** Returns a number as text: whole ones end in `.0` unless the field holds integers. */
function numberText({ type }: SalesforceField, value: string | number): string {
  if (typeof value === 'string') return value;
  return type !== 'int' && Number.isInteger(value) ? value.toFixed(1) : String(value);
}

/** Returns a value as it stands in an answer's JSON. */
export function jsonOf(field: SalesforceField, value: Value | Values): string {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'object') return JSON.stringify(value);
  return isNumber(field) ? numberText(field, value as string | number) : JSON.stringify(value);
}

/** Returns a value as it stands between two delimiters of a CSV file: all are quoted, and null is empty. */
export function csvOf(field: SalesforceField, value: Value | Values): string {
  if (value === null) return '""';
  if (typeof value === 'object') throw new Error(`${field.name} is compound`);
  const shown = isNumber(field) ? numberText(field, value as string | number) : String(value);
  return shown.includes('"') ? `"${shown.replaceAll('"', '""')}"` : `"${shown}"`;
}
