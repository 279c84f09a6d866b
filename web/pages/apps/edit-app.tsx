/** The settings of an app. A save names the revision that it was made from: a newer one is never overwritten. */
import { useNavigate, useParams } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import type { BodyOf, ViewedApp } from '../../../api/client.ts';
import { PRIVACY_SETTINGS } from '../../../domain/apps/privacy-settings.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { AreaField, Field } from '../../parts/field.tsx';
import { Head } from '../../parts/head.tsx';
import { sayMissing } from '../../parts/no-right.tsx';
import { Panel, Shown } from '../../parts/panel.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { textOf } from '../../parts/text-of.ts';
import { useAction, useRead } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';
import { Groups, Icons, InStore, Names, NewGroup, storeSettingsOf, Versions } from './store-panels.tsx';

type Change = BodyOf<'updateApp'>;

export function EditApp() {
  const { id = '' } = useParams({ strict: false });
  const read = useRead('viewApp', { params: { app_identifier: id }, query: { secrets: false } });
  const head = (name: string) => (
    <Head title={`Settings of ${name}`} within={{ title: 'Apps', to: '/apps', name: id }} />
  );
  return (
    <Shown result={read} head={head('an app')}>
      {({ apps: [app] }) => (
        <>
          {head(app!.name)}
          <Form key={app!.revision} app={app!} readAgain={() => void read.refetch()} />
        </>
      )}
    </Shown>
  );
}

function Form({ app, readAgain }: { app: ViewedApp; readAgain: () => void }) {
  const params = { app_identifier: app.identifier };
  const navigate = useNavigate();
  const update = useAction('updateApp', {
    changes: ['viewApp', 'listApps'],
    onDone: () => void navigate({ to: `/apps/${app.identifier}` }),
  });
  const send = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const body = { ...changedOf(app, event.currentTarget), app_type: app.platform, revision: app.revision };
    update.mutate({ params, body: body as Change });
  };
  const [isAdding, setAdding] = useState(false);
  const [made, setMade] = useState<readonly string[]>([]);
  return (
    <>
      <form className="stack" onSubmit={send}>
        <Identity app={app} />
        <Messages app={app} />
        <Privacy app={app} />
        <Groups app={app} made={made} onAdd={() => setAdding(true)} />
        <InStore app={app} />
        <Icons app={app} />
        <Names app={app} />
        <Versions app={app} />
        {update.error && <Refused refusal={update.error} />}
        {update.error?.http === 409 && (
          <div>
            <button type="button" className="btn" onClick={readAgain}>
              Show the newer settings
            </button>
          </div>
        )}
        <div>
          <button type="submit" className="btn main" disabled={update.isPending}>
            Save
          </button>
        </div>
        <AsCommand
          operation="updateApp"
          params={params}
          body={{ app_type: app.platform, session_timeout: 300, revision: app.revision }}
          cli={[`millrace apps update ${app.identifier} --settings settings.json`]}
          manual="apps"
        />
      </form>
      {isAdding && <NewGroup onMade={(group) => setMade([...made, group])} onClose={() => setAdding(false)} />}
    </>
  );
}

function Identity({ app }: { app: ViewedApp }) {
  const isFixed = app.store_fetched;
  return (
    <Panel title="The app">
      <div className="body">
        <div className="two">
          <Field label="Name" name="name" required defaultValue={app.name} autoComplete="off" />
          <Field
            label="Package name"
            name="package_name"
            required
            defaultValue={app.package_name}
            readOnly={isFixed}
            autoComplete="off"
            spellCheck={false}
            hint={isFixed ? 'From its store: it stays' : 'Exactly as its SDK sends it in context.app.namespace'}
          />
          <Field
            label="Time zone"
            name="default_tz"
            required
            defaultValue={app.default_tz}
            readOnly={isFixed}
            autoComplete="off"
            hint="Of the IANA database, such as Europe/Paris"
          />
          <Field
            label="Seconds without an event after which a session ends"
            name="session_timeout"
            type="number"
            min={15}
            max={3_600}
            required
            defaultValue={app.session_timeout}
            hint="15 to 3,600"
          />
          {app.platform === 'Web App' && (
            <AreaField
              label="Domains"
              name="domains"
              defaultValue={app.domains.join('\n')}
              readOnly={isFixed}
              spellCheck={false}
              hint="One a line, such as *.example.com"
            />
          )}
          <label>
            <input type="checkbox" name="qa" defaultChecked={app.is_qa} disabled={isFixed} /> For tests
          </label>
        </div>
      </div>
    </Panel>
  );
}

function Messages({
  app: { quiet_hours: quiet, send_rate: rate, rate_limit: limit, inbox_days_to_live: days },
}: {
  app: ViewedApp;
}) {
  return (
    <Panel title="Messages">
      <div className="body">
        <div className="two">
          <Field
            label="Quiet from"
            name="quiet_start"
            type="time"
            defaultValue={quiet?.start ?? ''}
            hint="Pushes wait"
          />
          <Field label="Quiet until" name="quiet_end" type="time" defaultValue={quiet?.end ?? ''} />
          <Field
            label="Zone of the quiet hours"
            name="quiet_timezone"
            defaultValue={quiet?.timezone ?? ''}
            autoComplete="off"
            hint="Empty: the zone of the app"
          />
          <Field
            label="Messages per second at most"
            name="send_rate"
            type="number"
            min={1}
            defaultValue={rate ?? ''}
            hint="Empty: no limit"
          />
          <Field
            label="Messages to a person at most"
            name="message_limit"
            type="number"
            min={1}
            defaultValue={limit.message_limit ?? ''}
            hint="With the seconds beside it, or empty"
          />
          <Field label="In this many seconds" name="period" type="number" min={1} defaultValue={limit.period ?? ''} />
          <Field
            label="Days that a message stays in the inbox"
            name="inbox_days_to_live"
            type="number"
            min={1}
            max={3_650}
            defaultValue={days ?? ''}
          />
        </div>
      </div>
    </Panel>
  );
}

function Privacy({ app }: { app: ViewedApp }) {
  const { missingFor } = useSession();
  const missing = missingFor('updateApp', { gdpr_emails: app.gdpr_emails });
  const isOff = missing.length > 0;
  return (
    <Panel title="Personal data">
      <fieldset className="body plain" disabled={isOff}>
        {isOff && <p className="second">{sayMissing(missing)} to change these.</p>}
        <label>
          <input type="checkbox" name="verified_users" defaultChecked={app.verified_users} /> Messages go only to
          devices on which a user token has vouched for the user
        </label>
        <label>
          <input type="checkbox" name="gdpr_approval" defaultChecked={app.gdpr_approval} /> Deletions that its devices
          request wait for approval
        </label>
        <AreaField
          label="Mails about requests from its devices go to"
          name="gdpr_emails"
          defaultValue={app.gdpr_emails.join('\n')}
          spellCheck={false}
          hint={
            app.gdpr_emails_not_mailed.length === 0
              ? 'One a line, 20 at most; members with gdpr_data_manage alone get them'
              : `These get none, since they are no members with gdpr_data_manage: ${app.gdpr_emails_not_mailed.join(', ')}`
          }
        />
        <Field
          label="Connection that gets the outcome of each message"
          name="outcomes_connection"
          defaultValue={app.outcomes_connection ?? ''}
          autoComplete="off"
          spellCheck={false}
          hint="Identifier of a webhook connection, or empty"
        />
      </fieldset>
    </Panel>
  );
}

const linesOf = (text: string): string[] => text.split(/[\s,;]+/).filter(Boolean);
const orNull = (text: string): string | null => (text === '' ? null : text);
const numberOrNull = (text: string): number | null => (text === '' ? null : Number(text));

/** Returns the members that differ from the app's: a member that stays is not sent, and so needs no right. */
function changedOf(app: ViewedApp, form: HTMLFormElement): Partial<Change> {
  const text = (name: string): string => textOf(form, name).trim();
  const isOn = (name: string): boolean => textOf(form, name) !== '';
  const limit = { message_limit: numberOrNull(text('message_limit')), period: numberOrNull(text('period')) };
  const quiet = { start: text('quiet_start'), end: text('quiet_end'), timezone: orNull(text('quiet_timezone')) };
  const before = app.quiet_hours;
  const mayPrivacy = form.querySelector('fieldset:disabled') === null;
  const given: Record<string, [now: unknown, before: unknown]> = {
    name: [text('name'), app.name],
    package_name: [text('package_name'), app.package_name],
    default_tz: [text('default_tz'), app.default_tz],
    session_timeout: [Number(text('session_timeout')), app.session_timeout],
    ...(app.store_fetched ? {} : { qa: [isOn('qa'), app.is_qa] }),
    ...(app.platform === 'Web App' ? { domains: [linesOf(text('domains')), app.domains] } : {}),
    send_rate: [numberOrNull(text('send_rate')), app.send_rate],
    rate_limit: [limit, app.rate_limit],
    quiet_hours: [
      quiet.start === '' && quiet.end === '' ? null : quiet,
      before && { start: before.start, end: before.end, timezone: before.timezone },
    ],
    inbox_days_to_live: [numberOrNull(text('inbox_days_to_live')), app.inbox_days_to_live],
    gdpr_emails: [linesOf(text('gdpr_emails')), app.gdpr_emails],
    gdpr_approval: [isOn('gdpr_approval'), app.gdpr_approval],
    verified_users: [isOn('verified_users'), app.verified_users],
    outcomes_connection: [orNull(text('outcomes_connection')), app.outcomes_connection],
    ...storeSettingsOf(app, form),
  };
  return Object.fromEntries(
    Object.entries(given)
      .filter(([name]) => mayPrivacy || !(PRIVACY_SETTINGS as readonly string[]).includes(name))
      .filter(([, [now, before]]) => JSON.stringify(now) !== JSON.stringify(before))
      .map(([name, [now]]) => [name, now]),
  );
}
