/** The push certificates of an iOS app by their end, and a form that adds one. */
import { type FormEvent, useState } from 'react';
import type { PushCertificate, ViewedApp } from '../../../api/client.ts';
import { DAY_MS } from '../../../domain/time/durations.ts';
import { ActionButton } from '../../parts/button.tsx';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { Dialog, FormEnd } from '../../parts/dialog.tsx';
import { AreaField } from '../../parts/field.tsx';
import { Chip } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { sayMissing } from '../../parts/no-right.tsx';
import { Empty, Panel } from '../../parts/panel.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { type Column, DataTable } from '../../parts/table.tsx';
import { textOf } from '../../parts/text-of.ts';
import { countText, Id, When } from '../../parts/values.tsx';
import { useAction, useRead } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';

const CHANGED = ['listPushCertificates', 'viewApp', 'listApps'] as const;
/** From here on a certificate is said to end soon. */
const SOON_DAYS = 30;

type AppParams = { app_identifier: string };

export function Certificates({ app }: { app: ViewedApp }) {
  const { missingFor } = useSession();
  const missing = missingFor('listPushCertificates');
  if (app.platform !== 'iOS App')
    return (
      <Panel title="Push certificates">
        <Empty says="Certificates are for iOS apps alone." />
      </Panel>
    );
  if (missing.length > 0)
    return (
      <Panel title="Push certificates">
        <p className="body second">{sayMissing(missing)}.</p>
      </Panel>
    );
  return <List params={{ app_identifier: app.identifier }} />;
}

function List({ params }: { params: AppParams }) {
  const [isAdding, setAdding] = useState(false);
  const read = useRead('listPushCertificates', { params });
  const byEnd = (read.data?.push_certificates ?? []).toSorted(
    (one, other) => Date.parse(other.not_after) - Date.parse(one.not_after),
  );
  const columns: readonly Column<PushCertificate>[] = [
    { title: 'Ends', cell: ({ not_after: end }) => <When at={end} /> },
    { title: 'State', cell: (certificate) => <State certificate={certificate} /> },
    { title: 'For', cell: ({ uid, subject }) => <code>{uid ?? subject}</code> },
    { title: 'Begins', cell: ({ not_before: begin }) => <When at={begin} /> },
    { title: 'Identifier', cell: ({ identifier }) => <Id value={identifier} /> },
    { title: 'Change', cell: (certificate) => <Change certificate={certificate} params={params} /> },
  ];
  return (
    <Panel
      title="Push certificates, the one that ends last first"
      end={
        <ActionButton operation="createPushCertificate" onPress={() => setAdding(true)}>
          <Icon name="plus" />
          Add one
        </ActionButton>
      }
    >
      <DataTable
        caption="Push certificates"
        columns={columns}
        rows={byEnd}
        keyOf={({ identifier }) => identifier}
        more={{ ...read, hasNextPage: false, isFetchingNextPage: false, fetchNextPage: () => undefined }}
        empty={<Empty says="No certificate yet: add the one that Apple gave you, with its private key." />}
      />
      {isAdding && <Add params={params} onClose={() => setAdding(false)} />}
    </Panel>
  );
}

function State({ certificate: { revoked, not_after: end } }: { certificate: PushCertificate }) {
  const days = Math.floor((Date.parse(end) - Date.now()) / DAY_MS);
  if (revoked) return <Chip tone="neutral">revoked</Chip>;
  if (days < 0) return <Chip tone="bad">ended</Chip>;
  return days < SOON_DAYS ? (
    <Chip tone="warn">ends in {countText(days)} days</Chip>
  ) : (
    <Chip tone="ok">{countText(days)} days left</Chip>
  );
}

function Change({ certificate, params }: { certificate: PushCertificate; params: AppParams }) {
  const change = useAction('updatePushCertificate', { changes: CHANGED });
  const at = { ...params, cert_identifier: certificate.identifier };
  if (certificate.revoked)
    return (
      <>
        <ActionButton
          operation="updatePushCertificate"
          isBusy={change.isPending}
          onPress={() => change.mutate({ params: at, body: { revoked: false } })}
        >
          Use it again
        </ActionButton>
        {change.error && <Refused refusal={change.error} />}
      </>
    );
  return (
    <ConfirmButton
      operation="updatePushCertificate"
      title="Revoke this certificate?"
      says="Pushes to iOS go by the newest one that is not revoked. Without another one they fail."
      yes="Revoke it"
      kind=""
      sent={change}
      onYes={(options) => change.mutate({ params: at, body: { revoked: true } }, options)}
    >
      Revoke
    </ConfirmButton>
  );
}

function Add({ params, onClose }: { params: AppParams; onClose: () => void }) {
  const add = useAction('createPushCertificate', { changes: CHANGED, onDone: onClose });
  const send = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    add.mutate({ params, body: { x509_pem: textOf(form, 'x509_pem'), pkey_pem: textOf(form, 'pkey_pem') } });
  };
  return (
    <Dialog title="Add a push certificate" onClose={onClose}>
      <form className="tight" onSubmit={send}>
        <AreaField label="Certificate, in PEM" name="x509_pem" required spellCheck={false} autoComplete="off" />
        <AreaField
          label="Private key, in PEM and without a passphrase"
          name="pkey_pem"
          required
          spellCheck={false}
          autoComplete="off"
          hint="It is kept encrypted; lists never show it"
        />
        <FormEnd refusal={add.error} isOff={add.isPending} onClose={onClose}>
          Add it
        </FormEnd>
      </form>
    </Dialog>
  );
}
