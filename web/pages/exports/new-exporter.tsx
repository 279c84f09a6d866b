/** The form of a new exporter. Its secrets are sent once: no page shows them again. */
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useId, useState } from 'react';
import { ENCRYPTION_TYPES } from '../../../domain/exports/encryption-type.ts';
import { EXPORT_DATA_TYPES, EXPORT_FORMATS, type ExportFormat } from '../../../domain/exports/export-data-type.ts';
import { Dialog, FormEnd } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { Shown } from '../../parts/panel.tsx';
import { textOf } from '../../parts/text-of.ts';
import { type InputOf, useAction, useRead } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';

const ACCESS = { aws_secret_key: 'an access key', aws_account_id: 'a role in your AWS account' } as const;
type Access = keyof typeof ACCESS;

export function NewExporter({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate();
  const [access, setAccess] = useState<Access>('aws_secret_key');
  const [hasAttributes, setAttributes] = useState(false);
  const [encryption, setEncryption] = useState('');
  const create = useAction('createDataExporter', {
    changes: ['listDataExporters'],
    onDone: ({ identifier }) => void navigate({ to: `/exports/${encodeURIComponent(identifier)}` }),
  });
  const send = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    create.mutate({ body: bodyOf(event.currentTarget, access) });
  };
  return (
    <Dialog title="New exporter" onClose={onClose}>
      <form className="tight" onSubmit={send}>
        <Field label="Name" name="name" hint="By default Export to <bucket>." />
        <fieldset className="rights">
          <legend>Data</legend>
          {EXPORT_DATA_TYPES.map((type) => (
            <Check
              key={type}
              name="exported_data"
              value={type}
              onChange={type === 'attributes' ? setAttributes : undefined}
            />
          ))}
        </fieldset>
        <Apps />
        {hasAttributes && <Sors />}
        <Bucket />
        <Pick
          label="It reaches the bucket by"
          name="access"
          value={access}
          onChange={(value) => setAccess(value as Access)}
        >
          {Object.entries(ACCESS).map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </Pick>
        {access === 'aws_secret_key' ? <AccessKey /> : <Role />}
        <Files encryption={encryption} onEncryption={setEncryption} />
        <label>
          <input type="checkbox" name="check" defaultChecked /> test the bucket first
        </label>
        <FormEnd refusal={create.error} isOff={create.isPending} onClose={onClose}>
          {create.isPending ? 'Creating' : 'Create it'}
        </FormEnd>
        <p className="small quiet">It is not active at first: its page activates it.</p>
      </form>
    </Dialog>
  );
}

function bodyOf(form: HTMLFormElement, access: Access): InputOf<'createDataExporter'>['body'] {
  const values = new FormData(form);
  const given = (...names: string[]): Record<string, string> =>
    Object.fromEntries(names.map((name) => [name, textOf(form, name).trim()]).filter(([, value]) => value !== ''));
  return {
    ...given('name', 'subfolder', 'aws_region', 'endpoint', 'export_since', 'encryption_type', 'encryption_key'),
    ...(access === 'aws_secret_key'
      ? given('aws_access_key_id', 'aws_secret_access_key')
      : given('aws_account_id', 'aws_role_name')),
    export_configuration: access,
    bucket_name: textOf(form, 'bucket_name').trim(),
    app_ids: listOf(form, 'app_ids'),
    sor_ids: listOf(form, 'sor_ids'),
    exported_data: listOf(form, 'exported_data'),
    format: textOf(form, 'format') as ExportFormat,
    include_headers: values.has('include_headers'),
    check: values.has('check'),
  };
}

/** Returns the values of a field: those of its checked boxes, or of a text with commas. */
export function listOf(form: HTMLFormElement, name: string): string[] {
  return new FormData(form)
    .getAll(name)
    .flatMap((value) => (typeof value === 'string' ? value.split(/[\s,]+/) : []))
    .filter((value) => value !== '');
}

export function Check({
  name,
  value,
  words = value,
  isChecked = false,
  onChange,
}: {
  name: string;
  value: string;
  words?: ReactNode;
  isChecked?: boolean;
  onChange?: ((isChecked: boolean) => void) | undefined;
}) {
  return (
    <label>
      <input
        type="checkbox"
        name={name}
        value={value}
        defaultChecked={isChecked}
        onChange={({ target }) => onChange?.(target.checked)}
      />{' '}
      {words}
    </label>
  );
}

function Pick({
  label,
  name,
  value,
  onChange,
  children,
}: {
  label: string;
  name: string;
  value?: string;
  onChange?: (value: string) => void;
  children: ReactNode;
}) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select
        className="input"
        id={id}
        name={name}
        {...(value === undefined ? {} : { value })}
        onChange={({ target }) => onChange?.(target.value)}
      >
        {children}
      </select>
    </div>
  );
}

function Apps() {
  const { may } = useSession();
  const isListed = may('listApps');
  const listed = useRead('listApps', { query: { secrets: false } }, { isWanted: isListed });
  if (!isListed) {
    return <Field label="Apps" name="app_ids" required hint="Their identifiers, with commas between them." />;
  }
  return (
    <fieldset className="rights">
      <legend>Apps</legend>
      <Shown result={listed}>
        {({ apps }) =>
          apps.length === 0 ? (
            <span className="second">No app yet: an exporter needs one.</span>
          ) : (
            apps.map(({ identifier, name }) => (
              <Check key={identifier} name="app_ids" value={identifier} words={name} />
            ))
          )
        }
      </Shown>
    </fieldset>
  );
}

function Sors() {
  const listed = useRead('listSystemsOfRecords', { query: { secrets: false } });
  return (
    <fieldset className="rights">
      <legend>Systems of Records, for the attributes</legend>
      <Shown result={listed}>
        {(sors) =>
          sors.map(({ identifier, name }) => <Check key={identifier} name="sor_ids" value={identifier} words={name} />)
        }
      </Shown>
    </fieldset>
  );
}

function Bucket() {
  return (
    <>
      <div className="two">
        <Field label="Bucket" name="bucket_name" required placeholder="acme-exports" />
        <Field label="Folder in it" name="subfolder" placeholder="millrace" />
      </div>
      <div className="two">
        <Field label="Region" name="aws_region" defaultValue="eu-west-1" />
        <Field label="Endpoint" name="endpoint" hint="Only of an S3 that is not Amazon's." />
      </div>
    </>
  );
}

function AccessKey() {
  return (
    <div className="two">
      <Field label="Access key id" name="aws_access_key_id" required autoComplete="off" />
      <Field
        label="Secret access key"
        name="aws_secret_access_key"
        type="password"
        required
        autoComplete="off"
        hint="Not shown again."
      />
    </div>
  );
}

function Role() {
  return (
    <div className="two">
      <Field label="Account" name="aws_account_id" required hint="Twelve digits, without dashes." />
      <Field label="Role" name="aws_role_name" placeholder="millrace-exporter" />
    </div>
  );
}

function Files({ encryption, onEncryption }: { encryption: string; onEncryption: (type: string) => void }) {
  return (
    <>
      <div className="two">
        <Pick label="Format" name="format">
          {EXPORT_FORMATS.map((format) => (
            <option key={format}>{format}</option>
          ))}
        </Pick>
        <Field label="Data from" name="export_since" type="date" hint="The day's start; empty: all there is." />
      </div>
      <label>
        <input type="checkbox" name="include_headers" defaultChecked /> a line of column names in each CSV file
      </label>
      <div className="two">
        <Pick label="Encryption of files" name="encryption_type" value={encryption} onChange={onEncryption}>
          <option value="">none</option>
          {ENCRYPTION_TYPES.map((type) => (
            <option key={type}>{type}</option>
          ))}
        </Pick>
        {encryption !== '' && (
          <Field
            label="Key"
            name="encryption_key"
            type="password"
            required
            autoComplete="off"
            hint="16, 24 or 32 bytes. Keep it: it is not shown again."
          />
        )}
      </div>
    </>
  );
}
