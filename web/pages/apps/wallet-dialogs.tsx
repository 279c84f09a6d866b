/** Forms of the data wallet: its languages, a new object, a translation, and an object's name and elements. */
import { type FormEvent, useState } from 'react';
import type { Purpose, Recipient } from '../../../api/client.ts';
import { Dialog, FormEnd } from '../../parts/dialog.tsx';
import { AreaField, Field } from '../../parts/field.tsx';
import { textOf } from '../../parts/text-of.ts';
import { type InputOf, useAction } from '../../session/calls.ts';
import { bodyNameOf, OPERATIONS, type WalletData, type WalletKind, type WalletRow, withText } from './wallet-rows.ts';
import type { AppParams } from './wallet.tsx';

type Part = { params: AppParams; onClose: () => void };
type Patch = InputOf<(typeof OPERATIONS)[WalletKind]['patch']>;
type Create = InputOf<(typeof OPERATIONS)[WalletKind]['create']>;

const submitted =
  (send: (form: HTMLFormElement) => void) =>
  (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    send(event.currentTarget);
  };

export function Languages({ data, params, onClose }: Part & { data: WalletData }) {
  const update = useAction('updateWalletLanguages', { changes: ['viewWalletLanguages'], onDone: onClose });
  return (
    <Dialog title="Languages of the wallet" onClose={onClose}>
      <form
        className="tight"
        onSubmit={submitted((form) => {
          const codes = textOf(form, 'languages')
            .split(/[\s,;]+/)
            .filter(Boolean);
          update.mutate({ params, body: { languages: codes.map((identifier) => ({ identifier })) } });
        })}
      >
        <Field
          label="Codes of ISO 639-1"
          name="languages"
          required
          defaultValue={data.languages.map(({ identifier }) => identifier).join(', ')}
          autoComplete="off"
          spellCheck={false}
          hint="Such as en, fr. Texts in a language that you leave out stay, unseen."
        />
        <FormEnd refusal={update.error} isOff={update.isPending} onClose={onClose}>
          Save
        </FormEnd>
      </form>
    </Dialog>
  );
}

const NAME_HINT = 'Lowercase letters and underscores, such as privacy_notice';

export function NewRow({ kind, params, onClose }: Part & { kind: WalletKind }) {
  const { create, lists, one } = OPERATIONS[kind];
  const make = useAction(create, { changes: lists, onDone: onClose });
  return (
    <Dialog title={`New ${one}`} onClose={onClose}>
      <form
        className="tight"
        onSubmit={submitted((form) => {
          const shown = kind === 'recipients' ? { display_name: textOf(form, 'display_name') } : {};
          make.mutate({ params, body: { technical_name: textOf(form, 'technical_name'), ...shown } } as Create);
        })}
      >
        <Field label="Technical name" name="technical_name" required autoComplete="off" hint={NAME_HINT} />
        {kind === 'recipients' && <Field label="Name" name="display_name" required autoComplete="off" />}
        <FormEnd refusal={make.error} isOff={make.isPending} onClose={onClose}>
          Make it
        </FormEnd>
      </form>
    </Dialog>
  );
}

/** Changes the texts of one object in one language; those in others stay. */
export function Translate({ row, language, params, onClose }: Part & { row: WalletRow; language: string }) {
  const { kind, id, technicalName, title = {}, body = {} } = row;
  const { patch, lists, param } = OPERATIONS[kind];
  const update = useAction(patch, { changes: lists, onDone: onClose });
  const bodyName = bodyNameOf(kind);
  return (
    <Dialog title={`${technicalName}, ${language}`} onClose={onClose}>
      <form
        className="tight"
        onSubmit={submitted((form) =>
          update.mutate({
            params: { ...params, [param]: id },
            body: {
              technical_name: technicalName,
              title: withText(title, language, textOf(form, 'title').trim()),
              [bodyName]: withText(body, language, textOf(form, 'body').trim()),
            },
          } as Patch),
        )}
      >
        <Field label="Title" name="title" defaultValue={title[language] ?? ''} maxLength={256} autoComplete="off" />
        <AreaField
          label={bodyName === 'text' ? 'Text' : 'Description'}
          name="body"
          rows={10}
          defaultValue={body[language] ?? ''}
          hint="Empty: not translated"
        />
        <FormEnd refusal={update.error} isOff={update.isPending} onClose={onClose}>
          Save
        </FormEnd>
      </form>
    </Dialog>
  );
}

/** Changes the names of an object and, if it has them, its elements. */
export function ChangeRow({ row, data, params, onClose }: Part & { row: WalletRow; data: WalletData }) {
  const { kind, id, technicalName, displayName } = row;
  const { patch, lists, param, one } = OPERATIONS[kind];
  const update = useAction(patch, { changes: lists, onDone: onClose });
  const recipient = kind === 'recipients' ? data.recipients.find(({ identifier }) => identifier === id) : undefined;
  const purpose = kind === 'purposes' ? data.purposes.find(({ identifier }) => identifier === id) : undefined;
  return (
    <Dialog title={`Change the ${one} ${technicalName}`} onClose={onClose}>
      <form
        className="tight"
        onSubmit={submitted((form) =>
          update.mutate({
            params: { ...params, [param]: id },
            body: {
              technical_name: textOf(form, 'technical_name'),
              ...(recipient ? { display_name: textOf(form, 'display_name'), data_elements: elementsIn(form) } : {}),
              ...(purpose ? { data_elements: chosenIn(form, data) } : {}),
            },
          } as Patch),
        )}
      >
        <Field
          label="Technical name"
          name="technical_name"
          required
          defaultValue={technicalName}
          autoComplete="off"
          hint={NAME_HINT}
        />
        {recipient && <Field label="Name" name="display_name" required defaultValue={displayName} autoComplete="off" />}
        {recipient && <ElementFields recipient={recipient} data={data} />}
        {purpose && <ElementChoice purpose={purpose} data={data} />}
        <FormEnd refusal={update.error} isOff={update.isPending} onClose={onClose}>
          Save
        </FormEnd>
      </form>
    </Dialog>
  );
}

/** A line for each element of a recipient, and an empty one for another. */
function ElementFields({ recipient, data }: { recipient: Recipient; data: WalletData }) {
  const [more, setMore] = useState(1);
  const known = recipient.data_elements.map((each) => ({ ...each, category: each.data_category.technical_name }));
  const blank = Array.from({ length: more }, () => ({ technical_name: '', display_name: '', category: '' }));
  return (
    <fieldset className="tight plain">
      <legend>Data that it gets</legend>
      {[...known, ...blank].map(({ technical_name: name, display_name: shown, category }, index) => (
        <div key={index} className="entry-row">
          <input
            className="input mono"
            name="element"
            defaultValue={name}
            aria-label={`Technical name ${index + 1}`}
            placeholder="orders"
          />
          <input
            className="input"
            name="shown"
            defaultValue={shown}
            aria-label={`Name ${index + 1}`}
            placeholder="Orders"
          />
          <select className="input" name="category" defaultValue={category} aria-label={`Category ${index + 1}`}>
            {data.categories.map(({ technical_name: each }) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </div>
      ))}
      <div>
        <button type="button" className="btn plain" onClick={() => setMore(more + 1)}>
          Another element
        </button>
      </div>
      <span className="small quiet">Empty a technical name to take the element away; purposes lose it, too.</span>
    </fieldset>
  );
}

function elementsIn(form: HTMLFormElement): object[] {
  const given = new FormData(form);
  const [names, shown, categories] = [given.getAll('element'), given.getAll('shown'), given.getAll('category')];
  return names.flatMap((name, index) =>
    name === ''
      ? []
      : [
          {
            technical_name: name,
            display_name: shown[index] === '' ? name : shown[index],
            data_category: { technical_name: categories[index] },
          },
        ],
  );
}

/** All elements of all recipients: those of the purpose are ticked. */
function ElementChoice({ purpose, data }: { purpose: Purpose; data: WalletData }) {
  const isOf = (recipient: string, element: string): boolean =>
    purpose.data_elements.some(
      (each) => each.recipient.technical_name === recipient && each.technical_name === element,
    );
  return data.recipients.map(({ technical_name: recipient, display_name: shown, data_elements: elements }) => (
    <fieldset key={recipient} className="tight plain">
      <legend>{shown}</legend>
      {elements.map(({ technical_name: element, display_name: name }) => (
        <label key={element}>
          <input type="checkbox" name={`${recipient}/${element}`} defaultChecked={isOf(recipient, element)} /> {name}
        </label>
      ))}
    </fieldset>
  ));
}

function chosenIn(form: HTMLFormElement, { recipients }: WalletData): object[] {
  return recipients.flatMap(({ technical_name: recipient, data_elements: elements }) =>
    elements
      .filter(({ technical_name: element }) => textOf(form, `${recipient}/${element}`) !== '')
      .map(({ technical_name: element }) => ({ technical_name: element, recipient: { technical_name: recipient } })),
  );
}
