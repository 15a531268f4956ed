// Figures of repeated runs, and the table they are printed in.

export const median = (list) => {
  const sorted = [...list].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
};

const number = (value) => (Number.isInteger(value) ? String(value) : value.toFixed(value < 10 ? 2
  : 0));

/** One line of the table: the values of all runs against bars for their median and maximum. */
export class Figure {
  constructor(row, what, { unit = 'ms', max = null, med = null, least = null } = {}) {
    Object.assign(this, { row, what, unit, bars: { max, med, least }, values: [] });
  }

  add(value) {
    this.values.push(value);
  }

  get ok() {
    const { max, med, least } = this.bars;
    return this.values.length > 0
      && (max === null || Math.max(...this.values) <= max)
      && (med === null || median(this.values) <= med)
      && (least === null || Math.min(...this.values) >= least);
  }

  cells() {
    const { max, med, least } = this.bars;
    const bar = [med === null ? '' : `median ≤ ${number(med)}`, max === null ? ''
      : `max ≤ ${number(max)}`, least === null ? '' : `min ≥ ${number(least)}`]
      .filter(Boolean).join(', ');
    const { values } = this;
    return [this.row, this.what, String(values.length), values.length ? number(median(values)) : '',
      values.length ? number(Math.max(...values)) : '', this.unit, bar, this.ok ? 'yes' : 'NO'];
  }
}

export function table(figures) {
  const rows = [['row', 'what', 'n', 'median', 'max', 'unit', 'bar', 'met'], ['---', '---', '---:',
    '---:', '---:', '---', '---', '---'], ...figures.map((figure) => figure.cells())];
  return rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
