/**
 * The colours of the style sheet, for the canvases; read again when the theme changes.
 *
 * A canvas does not know the colours of the system (CanvasText, Highlight): an element is asked what it makes of them.
 */
const BROKERS = 8;

export class Palette {
  /** `changed` is called when the theme has changed. */
  constructor(changed) {
    this.read();
    for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) {
      matchMedia(query).addEventListener("change", changed);
    }
  }

  read() {
    const probe = document.createElement("span");
    document.body.append(probe);
    const value = (name) => {
      probe.style.setProperty("color", `var(${name})`);
      return getComputedStyle(probe).color;
    };
    this.ink = value("--ink");
    this.soft = value("--soft");
    this.line = value("--line");
    this.ground = value("--ground");
    this.bad = value("--bad");
    this.good = value("--good");
    this.warn = value("--warn");
    this.accent = value("--accent");
    this.family = getComputedStyle(document.documentElement).getPropertyValue("--sans").trim();
    this.brokers = Array.from({ length: BROKERS }, (_, index) => value(`--broker-${index + 1}`));
    probe.remove();
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
