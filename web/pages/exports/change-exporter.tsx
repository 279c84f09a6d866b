/** The form that changes an exporter: names, types, mails, and a new key in the place of the old one. */
import type { FormEvent } from 'react';
import type { ViewedDataExporter } from '../../../api/client.ts';
import { EXPORT_DATA_TYPES, exportDataType } from '../../../domain/exports/export-data-type.ts';
import { Dialog, FormEnd } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { textOf } from '../../parts/text-of.ts';
import { type InputOf, useAction } from '../../session/calls.ts';
import { Check, listOf } from './new-exporter.tsx';

export function ChangeExporter({ exporter, onClose }: { exporter: ViewedDataExporter; onClose: () => void }) {
  const change = useAction('updateDataExporter', {
    changes: ['viewDataExporter', 'listDataExporters', 'reconcileExports'],
    onDone: onClose,
  });
  const exported = new Set(exporter.exported_data.map(exportDataType));
  const hasKey = exporter.type === 'aws_secret_key';
  const send = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const body = { ...bodyOf(event.currentTarget), revision: exporter.revision };
    change.mutate({ params: { exporter_id: exporter.identifier }, body });
  };
  return (
    <Dialog title={`Change ${exporter.name}`} onClose={onClose}>
      <form className="tight" onSubmit={send}>
        <Field label="Name" name="name" defaultValue={exporter.name} required />
        <fieldset className="rights">
          <legend>Data</legend>
          {EXPORT_DATA_TYPES.map((type) => (
            <Check key={type} name="exported_data" value={type} isChecked={exported.has(type)} />
          ))}
        </fieldset>
        <label>
          <input type="checkbox" name="include_headers" defaultChecked={exporter.include_headers} /> a line of column
          names in each CSV file
        </label>
        <Field
          label="Mails about failures to"
          name="notify_emails"
          defaultValue={exporter.notify_emails.join(', ')}
          hint="Addresses with commas between them; none: its creator."
        />
        {hasKey && (
          <div className="two">
            <Field label="New access key id" name="aws_access_key_id" autoComplete="off" hint="Empty: as it is." />
            <Field
              label="New secret access key"
              name="aws_secret_access_key"
              type="password"
              autoComplete="off"
              hint="Not shown again."
            />
          </div>
        )}
        <label>
          <input type="checkbox" name="check" defaultChecked /> test the bucket first
        </label>
        <p className="small quiet">A run under way keeps its settings. Windows that are exported stay as they are.</p>
        <FormEnd refusal={change.error} isOff={change.isPending} onClose={onClose}>
          {change.isPending ? 'Saving' : 'Save'}
        </FormEnd>
      </form>
    </Dialog>
  );
}

function bodyOf(form: HTMLFormElement): InputOf<'updateDataExporter'>['body'] {
  const keys = ['aws_access_key_id', 'aws_secret_access_key'].map((name) => [name, textOf(form, name).trim()]);
  return {
    ...Object.fromEntries(keys.filter(([, value]) => value !== '')),
    name: textOf(form, 'name'),
    exported_data: listOf(form, 'exported_data'),
    include_headers: new FormData(form).has('include_headers'),
    notify_emails: listOf(form, 'notify_emails'),
    check: new FormData(form).has('check'),
  };
}
