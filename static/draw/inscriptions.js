/**
 * Texts on a canvas that is drawn anew in each frame: each is written once, and put in its place as a picture.
 *
 * A label with its halo is two texts, stroked and filled, which cost more than all else that a frame of messages has. There
 * are few different ones, and each stands there for dozens of frames.
 */
const KEPT = 400;
const HALO = 3.5; // width of the stroke around the letters
const ROOM = 3; // for it, on each side

export class Inscriptions {
  constructor(make = () => document.createElement("canvas")) {
    this.make = make;
    this.kept = new Map(); // text and look -> {image, w, h, up}
  }

  /** Write `text` with its base line at (left, base). `look`: {font, size, ink, ground, ratio}. */
  put(context, text, left, base, look) {
    const { image, w, h, up } = this.#of(text, look);
    const whole = (value) => Math.round(value * look.ratio) / look.ratio; // between two pixels it would be blurred
    context.drawImage(image, whole(left - ROOM), whole(base - up), w, h);
  }

  #of(text, look) {
    const key = `${look.ink} ${look.ground} ${look.font} ${look.ratio} ${text}`;
    let found = this.kept.get(key);
    if (!found) {
      if (this.kept.size >= KEPT) this.kept.clear();
      this.kept.set(key, (found = this.#write(text, look)));
    }
    return found;
  }

  #write(text, { font, size, ink, ground, ratio }) {
    const image = this.make();
    const context = image.getContext("2d");
    context.font = font;
    const up = Math.ceil(size) + ROOM;
    const [wide, high] = [Math.ceil((context.measureText(text).width + 2 * ROOM) * ratio), Math.ceil((up + size / 2 + ROOM) * ratio)];
    Object.assign(image, { width: wide, height: high });
    Object.assign(context, { font, lineWidth: HALO, lineJoin: "round", strokeStyle: ground, fillStyle: ink });
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.strokeText(text, ROOM, up);
    context.fillText(text, ROOM, up);
    return { image, w: wide / ratio, h: high / ratio, up };
  }
}
