/** What a change says of what is there: nothing, another one (`null`: none), or some of its parts. */
const put = (base, change) => (change === undefined ? base : change && { ...base, ...change });

/** {text, predict} of a scenario with one of its settings, which may tell or ask something of its own. */
export function ofSetting({ text, document }, variant) {
  const own = document.variants?.[variant] ?? {};
  return { text: put(text, own.text), predict: put(document.predict, own.predict) };
}
