/** Settings of an app as its store knows it: identifiers, icons, names by language, versions; and its groups. */
import { type FormEvent, useState } from 'react';
import type { AppIcon, ViewedApp } from '../../../api/client.ts';
import { ActionButton } from '../../parts/button.tsx';
import { Dialog, FormEnd } from '../../parts/dialog.tsx';
import { Field, SelectField } from '../../parts/field.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Panel, Shown } from '../../parts/panel.tsx';
import { textOf } from '../../parts/text-of.ts';
import { useAction, useRead } from '../../session/calls.ts';

type AppProps = { app: ViewedApp };

export function InStore({ app }: AppProps) {
  const apps = useRead('listApps', { query: { unwanted: true, secrets: false } });
  const parents = (apps.data?.apps ?? []).filter(
    ({ identifier, parent_app_id: above }) => identifier !== app.identifier && above === null,
  );
  const parent = app.parent_app_id ?? '';
  const texts = [
    ['Id in its store', 'store_id', app.store_id, app.store_fetched],
    ['SKU', 'sku', app.sku, app.store_fetched],
    ['Category', 'primary_category', app.primary_category, false],
    ['Second category', 'secondary_category', app.secondary_category, false],
  ] as const;
  return (
    <Panel title="In its store">
      <div className="body">
        <div className="two">
          {texts.map(([label, name, value, isFixed]) => (
            <Field
              key={name}
              label={label}
              name={name}
              defaultValue={value ?? ''}
              readOnly={isFixed}
              autoComplete="off"
              spellCheck={false}
              {...(isFixed ? { hint: 'From its store: it stays' } : {})}
            />
          ))}
          <SelectField
            key={parents.length}
            label="Parent app"
            name="parent_identifier"
            defaultValue={parent}
            hint={
              app.children_app_id.length > 0
                ? 'It is a parent itself, so that it can have none'
                : 'There are two levels'
            }
          >
            <option value="">none</option>
            {parent !== '' && parents.every(({ identifier }) => identifier !== parent) && <option>{parent}</option>}
            {parents.map(({ identifier, name }) => (
              <option key={identifier} value={identifier}>
                {name}
              </option>
            ))}
          </SelectField>
          <label>
            <input type="checkbox" name="crm_syncable" defaultChecked={app.crm_syncable} /> Marked for a CRM
          </label>
        </div>
      </div>
    </Panel>
  );
}

const SIZES = ['thumb', 'medium', 'large'] as const;
const ICONS = { icon: 'Icon', cv_icon: 'Second icon (cv_icon)' } as const;

export function Icons({ app }: AppProps) {
  return (
    <Panel title="Icons" footer="Addresses by http or https. Millrace keeps the addresses, and fetches no picture.">
      <div className="body">
        <div className="two">
          {SIZES.flatMap((size) =>
            Object.entries(ICONS).map(([name, title]) => (
              <Field
                key={`${name} ${size}`}
                label={`${title}, ${size}`}
                name={`${name}.${size}`}
                type="url"
                maxLength={2_048}
                defaultValue={app[name as keyof typeof ICONS][size] ?? ''}
                autoComplete="off"
                spellCheck={false}
              />
            )),
          )}
        </div>
      </div>
    </Panel>
  );
}

/** The name of the part that holds the groups: a form without it has not read them yet. */
const GROUPS = 'app_groups';

export function Groups({ app, made, onAdd }: AppProps & { made: readonly string[]; onAdd: () => void }) {
  const read = useRead('listAppGroups', {});
  const own = [...app.app_groups.map(({ identifier }) => identifier), ...made];
  return (
    <Panel
      title="Groups"
      end={
        <ActionButton operation="createAppGroup" onPress={onAdd}>
          <Icon name="plus" />
          New group
        </ActionButton>
      }
    >
      <Shown result={read}>
        {(groups) => (
          <fieldset className="body plain" name={GROUPS}>
            <legend className="sr">Groups of the app</legend>
            {groups.length === 0 && (
              <p className="second">No group yet. Groups help people who look through many apps.</p>
            )}
            {groups.map(({ identifier, name, apps }) => (
              <label key={identifier}>
                <input type="checkbox" name="app_group" value={identifier} defaultChecked={own.includes(identifier)} />{' '}
                {name} <span className="quiet small">{apps.length === 1 ? '1 app' : `${apps.length} apps`}</span>
              </label>
            ))}
          </fieldset>
        )}
      </Shown>
    </Panel>
  );
}

/** A dialog that makes a group. It stands outside of the form of the settings, which its own form must not send. */
export function NewGroup({ onMade, onClose }: { onMade: (group: string) => void; onClose: () => void }) {
  const create = useAction('createAppGroup', {
    changes: ['listAppGroups'],
    onDone({ identifier }) {
      onMade(identifier);
      onClose();
    },
  });
  const send = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    create.mutate({ body: { name: textOf(event.currentTarget, 'group') } });
  };
  return (
    <Dialog title="New group of apps" onClose={onClose}>
      <form className="tight" onSubmit={send}>
        <Field
          label="Name of the group"
          name="group"
          required
          maxLength={256}
          autoComplete="off"
          hint="The app is in it once you save its settings"
        />
        <FormEnd refusal={create.error} isOff={create.isPending} onClose={onClose}>
          Make the group
        </FormEnd>
      </form>
    </Dialog>
  );
}

const LANGUAGE = { language: '', original_name: '', name: '', description: null as string | null };

export function Names({ app }: AppProps) {
  const [more, setMore] = useState(0);
  return (
    <Panel title="Names by language" footer="Empty a language to take its line away.">
      <div className="body">
        {[...app.localizations, ...Array.from({ length: more }, () => LANGUAGE)].map((each, nth) => (
          <div key={nth} className="entry-row wide">
            <Field label={`Language ${nth + 1}`} name="language" defaultValue={each.language} placeholder="fr" />
            <Field label={`Name ${nth + 1}`} name="localized_name" defaultValue={each.name} />
            <Field label={`Name in its store ${nth + 1}`} name="original_name" defaultValue={each.original_name} />
            <Field label={`Description ${nth + 1}`} name="description" defaultValue={each.description ?? ''} />
          </div>
        ))}
        <AddLine onPress={() => setMore(more + 1)}>Another language</AddLine>
      </div>
    </Panel>
  );
}

const VERSION = { cdate: null, state: '', version_number: '' };

export function Versions({ app }: AppProps) {
  const [more, setMore] = useState(0);
  return (
    <Panel
      title="Versions in its store"
      footer="The newest counts: with removedFromSale, developerRemovedFromSale or inactive the app is out of its store. Empty a version to take its line away."
    >
      <div className="body">
        {[...app.statuses, ...Array.from({ length: more }, () => VERSION)].map((each, nth) => (
          <div key={nth} className="entry-row wide">
            <Field label={`Version ${nth + 1}`} name="version_number" defaultValue={each.version_number} />
            <Field label={`State ${nth + 1}`} name="version_state" defaultValue={each.state} list="version-states" />
            <Field
              label={`Since ${nth + 1} (UTC)`}
              name="version_since"
              type="datetime-local"
              step={1}
              defaultValue={each.cdate === null ? '' : new Date(each.cdate * 1_000).toISOString().slice(0, 19)}
            />
          </div>
        ))}
        <datalist id="version-states">
          {['live', 'removedFromSale', 'developerRemovedFromSale', 'inactive'].map((state) => (
            <option key={state} value={state} />
          ))}
        </datalist>
        <AddLine onPress={() => setMore(more + 1)}>Another version</AddLine>
      </div>
    </Panel>
  );
}

function AddLine({ onPress, children }: { onPress: () => void; children: string }) {
  return (
    <div>
      <button type="button" className="btn plain" onClick={onPress}>
        <Icon name="plus" />
        {children}
      </button>
    </div>
  );
}

type Pair = [now: unknown, before: unknown];

const orNull = (text: string): string | null => (text === '' ? null : text);

/** Returns what the form holds of these settings, each beside what the app has. */
export function storeSettingsOf(app: ViewedApp, form: HTMLFormElement): Record<string, Pair> {
  const given = new FormData(form);
  const text = (name: string): string => textOf(form, name).trim();
  const all = (name: string): string[] => given.getAll(name).map((value) => (value as string).trim());
  const iconIn = (name: string): AppIcon => imageOf((size) => orNull(text(`${name}.${size}`)));
  const [languages, names, originals, descriptions] = [
    all('language'),
    all('localized_name'),
    all('original_name'),
    all('description'),
  ];
  const [versions, states, times] = [all('version_number'), all('version_state'), all('version_since')];
  const hasGroups = form.querySelector(`fieldset[name=${GROUPS}]`) !== null;
  return {
    ...(app.store_fetched ? {} : { store_id: [orNull(text('store_id')), app.store_id] }),
    ...(app.store_fetched ? {} : { sku: [orNull(text('sku')), app.sku] }),
    primary_category: [orNull(text('primary_category')), app.primary_category],
    secondary_category: [orNull(text('secondary_category')), app.secondary_category],
    parent_identifier: [orNull(text('parent_identifier')), app.parent_app_id],
    crm_syncable: [text('crm_syncable') !== '', app.crm_syncable],
    icon: [iconIn('icon'), imageOf((size) => app.icon[size])],
    cv_icon: [iconIn('cv_icon'), imageOf((size) => app.cv_icon[size])],
    ...(hasGroups
      ? { app_groups: [all('app_group').toSorted(), app.app_groups.map(({ identifier }) => identifier).toSorted()] }
      : {}),
    localizations: [
      languages.flatMap((language, nth) =>
        language === ''
          ? []
          : [localizationOf(language, originals[nth]! || names[nth]!, names[nth]!, orNull(descriptions[nth]!))],
      ),
      app.localizations.map((each) => localizationOf(each.language, each.original_name, each.name, each.description)),
    ],
    statuses: [
      versions.flatMap((version, nth) =>
        version === '' ? [] : [statusOf(Date.parse(`${times[nth]!}Z`) / 1_000, states[nth]!, version)],
      ),
      app.statuses.map((each) => statusOf(each.cdate, each.state, each.version_number)),
    ],
  };
}

const imageOf = (addressOf: (size: keyof AppIcon) => string | null): AppIcon => ({
  thumb: addressOf('thumb'),
  medium: addressOf('medium'),
  large: addressOf('large'),
});

const localizationOf = (language: string, original: string, name: string, description: string | null) => ({
  language,
  original_name: original,
  name,
  description,
});

const statusOf = (cdate: number, state: string, version: string) => ({ cdate, state, version_number: version });
