/** Refused rows as a grid of texts that can be edited: nothing is trimmed, and no text becomes a number. */
import { type ClipboardEvent, type KeyboardEvent, memo, type ReactNode } from 'react';

export type GridRow = {
  id: string;
  /** Line of the row in its file. */
  line: string;
  /** The texts now. A single one stands for a row that could not be cut into columns; none can't be edited. */
  cells: readonly string[];
  /** The texts as they came. */
  was: readonly string[];
  /** Index of the cell that is wrong. */
  wrong: number | null;
  problem: string;
  isLocked: boolean;
};

type OnChange = (id: string, cell: number, text: string) => void;

export function ErrorGrid({
  caption,
  columns,
  rows,
  onChange,
}: {
  caption: string;
  columns: readonly string[];
  rows: readonly GridRow[];
  onChange: OnChange;
}) {
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label={caption}>
      <table className="cards grid">
        <caption className="sr">{caption}</caption>
        <thead>
          <tr>
            <th scope="col" className="num">
              Line
            </th>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
            <th scope="col">Problem</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Row key={row.id} row={row} columns={columns} onChange={onChange} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

const Row = memo(function Row({
  row,
  columns,
  onChange,
}: {
  row: GridRow;
  columns: readonly string[];
  onChange: OnChange;
}) {
  const { line, cells, problem } = row;
  const isWhole = cells.length !== columns.length;
  return (
    <tr>
      <td className="num" data-label="Line">
        <span>{line}</span>
      </td>
      {cells.length === 0 && (
        <td data-label="Row" colSpan={columns.length}>
          <span className="quiet">not kept whole</span>
        </td>
      )}
      {cells.map((text, index) => {
        const name = isWhole ? 'The whole row' : columns[index]!;
        return (
          <td key={name} data-label={name} colSpan={isWhole ? columns.length : 1} className={classOf(row, index)}>
            <Cell row={row} index={index} text={text} name={name} onChange={onChange} />
          </td>
        );
      })}
      <td data-label="Problem" className="problem">
        <span>{problem}</span>
      </td>
    </tr>
  );
});

function classOf({ cells, was, wrong }: GridRow, index: number): string {
  if (cells[index] !== was[index]) return 'done';
  return wrong === index && cells.every((text, at) => text === was[at]) ? 'at' : '';
}

function Cell({
  row: { id, line, was, isLocked },
  index,
  text,
  name,
  onChange,
}: {
  row: GridRow;
  index: number;
  text: string;
  name: string;
  onChange: OnChange;
}): ReactNode {
  const before = was[index]!;
  return (
    <span className="cell">
      {text !== before && before !== '' && <del className="was">{before}</del>}
      <textarea
        rows={1}
        value={text}
        readOnly={isLocked}
        spellCheck={false}
        autoCapitalize="off"
        autoComplete="off"
        aria-label={`${name}, line ${line}`}
        data-cell={index}
        title={text}
        onKeyDown={moveByKey}
        onPaste={(event) => pasteAsOne(event)}
        onChange={({ target }) => onChange(id, index, asBefore(before, target.value))}
      />
    </span>
  );
}

/** Returns the text with the line ends that it had: a field of a page knows LF alone. */
function asBefore(before: string, typed: string): string {
  return before.includes('\r\n') ? typed.replaceAll('\n', '\r\n') : typed;
}

/** Goes to the cell above or below; Escape goes to the buttons below the grid. Shift and Enter begin a new line. */
function moveByKey(event: KeyboardEvent<HTMLTextAreaElement>): void {
  const { key, shiftKey, altKey, currentTarget: cell } = event;
  const isOneLine = !cell.value.includes('\n');
  const isDown = (key === 'Enter' && !shiftKey && !altKey) || (key === 'ArrowDown' && isOneLine);
  const isUp = key === 'ArrowUp' && isOneLine;
  if (key === 'Escape') {
    cell.closest('.panel')?.querySelector<HTMLElement>('.bar button:not([disabled])')?.focus();
    return;
  }
  if (!isDown && !isUp) return;
  event.preventDefault();
  const row = cell.closest('tr');
  const next = isDown ? row?.nextElementSibling : row?.previousElementSibling;
  const cells = next?.querySelectorAll<HTMLTextAreaElement>('textarea');
  const target = cells?.[Math.min(Number(cell.dataset['cell']), cells.length - 1)];
  target?.focus();
  target?.select();
}

/** A spreadsheet ends what it copies with a line end, which is no part of the cell. */
function pasteAsOne(event: ClipboardEvent<HTMLTextAreaElement>): void {
  const pasted = event.clipboardData.getData('text/plain');
  const text = pasted.replace(/\r?\n$/, '');
  if (text === pasted || !event.clipboardData.types.includes('text/html')) return;
  event.preventDefault();
  document.execCommand('insertText', false, text);
}
