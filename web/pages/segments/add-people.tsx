/** Adds people to a list, or removes them: ids from a pasted column or a file, with those that were refused. */
import { useState } from 'react';
import { ActionButton } from '../../parts/button.tsx';
import { AreaField, SelectField } from '../../parts/field.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { DataTable } from '../../parts/table.tsx';
import { countText } from '../../parts/values.tsx';
import { useAction } from '../../session/calls.ts';
import { DropFile } from '../imports/drop-file.tsx';

/** Maximum number of ids; the server takes as many in a call. */
const MOST = 100_000;
const CHANGES = ['viewSegment', 'listSegments', 'countSegmentDays'] as const;

type Type = 'user_id' | 'device_id';

/** Returns the ids of a column: one a line; ids are never trimmed, empty lines are none. */
function idsOf(text: string): string[] {
  return text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .filter((line) => line !== '');
}

export function AddPeople({ id }: { id: string }) {
  const [text, setText] = useState('');
  const [file, setFile] = useState<File | null>(null);
  const [type, setType] = useState<Type>('user_id');
  const [sent, setSent] = useState<string[]>([]);
  const add = useAction('addSegmentPeople', { changes: CHANGES });
  const remove = useAction('removeSegmentPeople', { changes: CHANGES });
  const ids = idsOf(text);
  const tooMany = ids.length > MOST;
  const take = async (given: File | null): Promise<void> => {
    setFile(given);
    if (given !== null) setText(await given.text());
  };
  const send = (action: typeof add | typeof remove): void => {
    add.reset();
    remove.reset();
    setSent(ids);
    action.mutate({ params: { identifier: id }, body: { ids, customer_id_type: type } });
  };
  const isBusy = add.isPending || remove.isPending;
  const refusal = add.error ?? remove.error;
  const refused = (add.data ?? remove.data)?.refused ?? [];
  return (
    <Panel title="Add or remove people">
      <div className="body">
        <SelectField label="The ids are" value={type} onChange={({ target }) => setType(target.value as Type)}>
          <option value="user_id">user ids</option>
          <option value="device_id">device ids: their people</option>
        </SelectField>
        <AreaField
          label="Ids, one a line"
          rows={5}
          value={text}
          spellCheck={false}
          onChange={({ target }) => setText(target.value)}
          hint={`${countText(ids.length)} ids. Paste a column of a sheet, or take a file.`}
          error={tooMany ? `At most ${countText(MOST)} ids at once` : undefined}
        />
        <DropFile file={file} onChange={(given) => void take(given)} />
        <div className="controls">
          <ActionButton
            operation="addSegmentPeople"
            kind="main"
            isBusy={isBusy || ids.length === 0 || tooMany}
            onPress={() => send(add)}
          >
            Add them
          </ActionButton>
          <ActionButton
            operation="removeSegmentPeople"
            isBusy={isBusy || ids.length === 0 || tooMany}
            onPress={() => send(remove)}
          >
            Remove them
          </ActionButton>
        </div>
        {refusal && <Refused refusal={refusal} />}
        {add.data && (
          <Done>
            {countText(add.data.added)} added, {countText(add.data.already_there)} were there already,{' '}
            {countText(refused.length)} refused.
          </Done>
        )}
        {remove.data && (
          <Done>
            {countText(remove.data.removed)} removed, {countText(remove.data.not_there)} were not there,{' '}
            {countText(refused.length)} refused.
          </Done>
        )}
      </div>
      {refused.length > 0 && (
        <DataTable
          caption="Refused ids"
          columns={[
            { title: 'Line', isNumber: true, cell: ({ index }) => index + 1 },
            { title: 'Id', cell: ({ index }) => <code className="wraps">{sent[index]}</code> },
            { title: 'Problem', cell: ({ message }) => message },
          ]}
          rows={refused.slice(0, 200)}
          keyOf={({ index }) => String(index)}
          empty={null}
        />
      )}
    </Panel>
  );
}

function Done({ children }: { children: React.ReactNode }) {
  return (
    <p className="note good" role="status">
      <Icon name="check" />
      <span>{children}</span>
    </p>
  );
}
