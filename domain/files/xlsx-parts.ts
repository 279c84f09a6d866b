/** Parts of an .xlsx file (ECMA-376 part 1, SpreadsheetML). Cells contain their texts, so that rows can be streamed. */

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PART_TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

const forEachSheet = (sheets: number, xml: (number: number) => string): string =>
  Array.from({ length: sheets }, (_, at) => xml(at + 1)).join('');

const relationship = (id: string, type: string, target: string): string =>
  `<Relationship Id="${id}" Type="${OFFICE}/${type}" Target="${target}"/>`;

const relationships = (content: string): string =>
  `${XML}<Relationships xmlns="${PACKAGE}/relationships">${content}</Relationships>`;

export const sheetPath = (number: number): string => `xl/worksheets/sheet${number}.xml`;

export function xlsxParts(sheets: number): [path: string, xml: string][] {
  const parts = forEachSheet(
    sheets,
    (number) => `<Override PartName="/${sheetPath(number)}" ContentType="${PART_TYPE}.worksheet+xml"/>`,
  );
  const names = forEachSheet(
    sheets,
    (number) => `<sheet name="Sheet${number}" sheetId="${number}" r:id="rId${number}"/>`,
  );
  const targets = forEachSheet(sheets, (number) =>
    relationship(`rId${number}`, 'worksheet', `worksheets/sheet${number}.xml`),
  );
  return [
    [
      '[Content_Types].xml',
      `${XML}<Types xmlns="${PACKAGE}/content-types">` +
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>' +
        `<Override PartName="/xl/workbook.xml" ContentType="${PART_TYPE}.sheet.main+xml"/>` +
        `<Override PartName="/xl/styles.xml" ContentType="${PART_TYPE}.styles+xml"/>${parts}</Types>`,
    ],
    ['_rels/.rels', relationships(relationship('rId1', 'officeDocument', 'xl/workbook.xml'))],
    ['xl/workbook.xml', `${XML}<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets>${names}</sheets></workbook>`],
    ['xl/_rels/workbook.xml.rels', relationships(targets + relationship(`rId${sheets + 1}`, 'styles', 'styles.xml'))],
    [
      'xl/styles.xml',
      `${XML}<styleSheet xmlns="${MAIN}"><fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts>` +
        '<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>' +
        '<borders count="1"><border/></borders><cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>' +
        '<cellXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/></cellXfs>' +
        '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>',
    ],
  ];
}

export const XLSX_SHEET_BEGIN = `${XML}<worksheet xmlns="${MAIN}"><sheetData>`;
export const XLSX_SHEET_END = '</sheetData></worksheet>';

export function columnLetters(index: number): string {
  return index < 26
    ? String.fromCharCode(65 + index)
    : columnLetters(Math.floor(index / 26) - 1) + columnLetters(index % 26);
}

/** Returns a row's XML; `row` counts from 1, `letters` has those of each column. */
export function xlsxRow(row: number, values: readonly (string | number | null)[], letters: readonly string[]): string {
  let xml = `<row r="${row}">`;
  for (let at = 0; at < values.length; at += 1) {
    const value = values[at]!;
    if (value === null) continue;
    const cell = `<c r="${letters[at]!}${row}"`;
    xml +=
      typeof value === 'number'
        ? `${cell}><v>${Object.is(value, -0) ? '-0' : value}</v></c>`
        : `${cell} t="inlineStr"><is><t xml:space="preserve">${xmlText(value)}</t></is></c>`;
  }
  return `${xml}</row>`;
}

/** Characters that XML cannot hold or readers change: controls, CR, halves of a pair, U+FFFE and U+FFFF. */
const UNFIT = String.raw`[\u0000-\u0008\u000b-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]`;
const ANY_SPECIAL = new RegExp(String.raw`[&<>_\u0000-\u0008\u000b-\u001f\ud800-\udfff\ufffe\uffff]`);
const UNFIT_CHARACTER = new RegExp(UNFIT, 'g');
/** An underscore that a reader would take for the beginning of an escape such as `_x0041_` (22.9.2.19). */
const READ_AS_ESCAPE = new RegExp(`_(?=[xX][0-9a-fA-F]{4}(?:_|${UNFIT}))`, 'g');

function xmlText(text: string): string {
  if (!ANY_SPECIAL.test(text)) return text;
  return text
    .replaceAll(READ_AS_ESCAPE, '_x005F_')
    .replaceAll(
      UNFIT_CHARACTER,
      (character) => `_x${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`,
    )
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
}
