/** Asks of one person whether the segment has them, and why. */
import { type FormEvent, useState } from 'react';
import { Field, SelectField } from '../../parts/field.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Panel, Shown } from '../../parts/panel.tsx';
import { textOf } from '../../parts/text-of.ts';
import { forgetReads, useRead } from '../../session/calls.ts';
import { useNames } from '../analytics/filter-names.ts';
import { Explained } from '../people/segment-why.tsx';

type Asked = { kind: string; id: string };

export function WhyOne({ id }: { id: string }) {
  const [asked, setAsked] = useState<Asked | null>(null);
  const send = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    forgetReads('explainSegment');
    setAsked({ kind: textOf(event.currentTarget, 'kind'), id: textOf(event.currentTarget, 'id') });
  };
  return (
    <Panel title="Is one person in it, and why">
      <form className="body" onSubmit={send}>
        <div className="two">
          <SelectField label="By" name="kind">
            <option value="user_id">user id</option>
            <option value="device_id">device id</option>
          </SelectField>
          <Field label="Id" name="id" required spellCheck={false} autoComplete="off" placeholder="c-1815" />
        </div>
        <p className="small second">
          <Icon name="eye" /> The look is written into the audit log.
        </p>
        <div>
          <button type="submit" className="btn">
            Show why
          </button>
        </div>
      </form>
      {asked && (
        <div className="body">
          <Why key={`${asked.kind} ${asked.id}`} id={id} asked={asked} />
        </div>
      )}
    </Panel>
  );
}

function Why({ id, asked }: { id: string; asked: Asked }) {
  const { nameOf } = useNames();
  const read = useRead('explainSegment', { body: { [asked.kind]: asked.id, segment_id: id } });
  return <Shown result={read}>{(explained) => <Explained explained={explained} nameOf={nameOf} />}</Shown>;
}
