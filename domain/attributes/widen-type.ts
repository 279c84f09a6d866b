import { parseAttributeValue, type ScalarType, type ValueType } from './attribute-value.ts';
import { elementText, scalarText } from './json-value.ts';

export type WidenedFrom = Exclude<ScalarType, 'String'>;

/** Returns whether a value turns an attribute of guessed type into a String; a Set stays a Set. */
export function widensType(type: ValueType, value: unknown): type is WidenedFrom {
  if (type === 'String' || type === 'Set') return false;
  const text = Array.isArray(value) ? joinedText(value) : elementText(value);
  if (text === undefined || !parseAttributeValue('String', text).ok) return false;
  const own = scalarText(type, Array.isArray(value) ? text : value);
  return own === undefined || !parseAttributeValue(type, own).ok;
}

/** Returns the elements of an array as one String; undefined if one is no scalar or contains the separator. */
function joinedText(elements: readonly unknown[]): string | undefined {
  const texts = elements.map(elementText);
  return texts.every((text) => text !== undefined && !text.includes(';')) ? texts.join(';') : undefined;
}
