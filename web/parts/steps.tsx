/** Steps of a funnel as rows: how many people took each, the share of the step before, and how many stopped there. */
import type { ReactNode } from 'react';
import { Icon } from './icon.tsx';
import { countText, durationText, percentText } from './values.tsx';

export type ShownStep = {
  name: string;
  people: number;
  /** By how many people the number may be off; 0 if it is exact. */
  error: number;
  /** Seconds since the step before, of half of the people. */
  median: number | null;
};

const WIDTH = 1_000;
const HEIGHT = 22;

export function Steps({
  steps,
  stepActions,
  dropActions,
}: {
  steps: readonly ShownStep[];
  /** Actions on the people who took a step, and on the ones who stopped after it. */
  stepActions: (step: number) => ReactNode;
  dropActions: (step: number) => ReactNode;
}) {
  const first = steps[0]!;
  return (
    <ol className="steps">
      {steps.map((step, nth) => (
        <li key={nth}>
          <StepRow step={step} nth={nth} first={first} before={steps[nth - 1]} actions={stepActions(nth)} />
          {nth < steps.length - 1 && (
            <div className="lost">
              <Icon name="branch" />
              <div className="row">
                <span>
                  <b>{countText(step.people - steps[nth + 1]!.people)}</b> stopped here,{' '}
                  <b>{percentText(step.people - steps[nth + 1]!.people, step.people)}</b>
                </span>
                {step.people > steps[nth + 1]!.people && dropActions(nth)}
              </div>
            </div>
          )}
        </li>
      ))}
    </ol>
  );
}

function StepRow({
  step: { name, people, error, median },
  nth,
  first,
  before,
  actions,
}: {
  step: ShownStep;
  nth: number;
  first: ShownStep;
  before: ShownStep | undefined;
  actions: ReactNode;
}) {
  const count = error === 0 ? countText(people) : `${countText(people)} ± ${countText(error)}`;
  return (
    <div className="step">
      <span className="no">{nth + 1}</span>
      <span className="name">
        {name} {people > 0 && actions}
      </span>
      <Bar of={first.people} before={before?.people ?? people} people={people} />
      <span className="cellnum first">
        <b>{before ? percentText(people, first.people) : count}</b>
        <span>{before ? `${count}, of the first` : 'people'}</span>
      </span>
      <span className="cellnum prev">
        {before && (
          <>
            <b>{percentText(people, before.people)}</b>
            <span>of step {nth}</span>
          </>
        )}
      </span>
      <span className="cellnum time">
        {before && median !== null && (
          <>
            <b>{durationText(median * 1_000)}</b>
            <span>median since it</span>
          </>
        )}
      </span>
    </div>
  );
}

/** The people of a step as a bar, with those lost since the step before in a pale colour. */
function Bar({ of, before, people }: { of: number; before: number; people: number }) {
  const widthOf = (count: number) => (of === 0 ? 0 : (WIDTH * count) / of);
  return (
    <svg className="graph" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      <rect className="f-soft" width={widthOf(before)} height={HEIGHT} rx="3" />
      <rect className="f-accent" width={widthOf(people)} height={HEIGHT} rx="3" />
    </svg>
  );
}
