/** The colours of the style sheet, for the canvases; read again when the theme changes. */
const BROKERS = 8;

export class Palette {
  constructor() {
    this.read();
    for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) {
      matchMedia(query).addEventListener("change", () => this.read());
    }
  }

  read() {
    const style = getComputedStyle(document.documentElement);
    const value = (name) => style.getPropertyValue(name).trim();
    this.ink = value("--ink");
    this.soft = value("--soft");
    this.line = value("--line");
    this.ground = value("--ground");
    this.bad = value("--bad");
    this.good = value("--good");
    this.warn = value("--warn");
    this.accent = value("--accent");
    this.family = value("--sans");
    this.brokers = Array.from({ length: BROKERS }, (_, index) => value(`--broker-${index + 1}`));
  }

  broker(id) {
    return this.brokers[(Number(id) + BROKERS - 1) % BROKERS];
  }

  font(size, weight = 400) {
    return `${weight} ${size}px ${this.family}`;
  }
}

/** The class that gives an element a broker's colour. */
export const brokerClass = (id) => `b${((Number(id) + BROKERS - 1) % BROKERS) + 1}`;
