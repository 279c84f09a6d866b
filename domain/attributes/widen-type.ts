import { parseAttributeValue, type ScalarType, type ValueType } from './attribute-value.ts';
import { elementText, scalarText } from './json-value.ts';

/** Types that the values of an attribute may have had before it became a String. */
export type WidenedFrom = Exclude<ScalarType, 'String'>;

/**
 * Returns whether a value makes a String of an attribute whose type was guessed: one that this type doesn't take, and a
 * String does. A Set stays one, since a scalar becomes its only element.
 */
export function widensType(type: ValueType, value: unknown): type is WidenedFrom {
  if (type === 'String' || type === 'Set') return false;
  const text = Array.isArray(value) ? joinedText(value) : elementText(value);
  if (text === undefined || !parseAttributeValue('String', text).ok) return false;
  const own = scalarText(type, Array.isArray(value) ? text : value);
  return own === undefined || !parseAttributeValue(type, own).ok;
}

/** The elements of an array as they stand in a String; undefined where one is no scalar, or holds the separator. */
function joinedText(elements: readonly unknown[]): string | undefined {
  const texts = elements.map(elementText);
  return texts.every((text) => text !== undefined && !text.includes(';')) ? texts.join(';') : undefined;
}
