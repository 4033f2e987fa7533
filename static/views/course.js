/** The way through the lessons, as the drawer lists it: what is next, a search, the tracks with what is done in each. */
import { told } from "../i18n/texts.js";
import { matching, next, progressOf } from "../model/course.js";
import { icon } from "./icons.js";
import { h } from "./patch.js";
import { reveal } from "./reveal.js";

/** "5 min", and how hard: one to three dots, with the word for those who listen. */
export function effort({ minutes, level }, words) {
  if (!minutes) return null;
  const name = words.t(`course.level.${level}`);
  return h("span", { class: "effort" }, words.t("course.minutes", { n: minutes }), " ",
    h("span", { class: "level", role: "img", "aria-label": name, title: name }, [1, 2, 3].map((one) => h("i", { key: one, class: one <= level ? "on" : "" }))));
}

/** What is left, in minutes, or in hours where these are many. */
const left = (minutes, words) => (minutes < 100 ? words.t("course.left", { n: minutes }) : words.t("course.left_hours", { n: Math.round(minutes / 60) }));

/** Above the tracks: one thing to do now, and how far one has come. */
export function invitation({ words, desk }) {
  const { all, results } = desk.lessons;
  const onWay = all.filter(({ minutes }) => minutes !== null);
  const { done, of, minutes } = progressOf(onWay, results.all);
  const lesson = next(all, results.all, desk.lessons.last);
  const percent = of ? Math.round((100 * done) / of) : 0;
  return h("section", { key: "next", class: "next-lesson", "aria-label": words.t("course.next") },
    h("p", { class: "hint" }, words.t(!lesson ? "course.all_done" : done ? "course.next" : "course.first")),
    lesson && h("h3", {}, told(lesson.title, words)),
    lesson && h("p", {}, effort(lesson, words)),
    lesson && h("button", { type: "button", class: "main", "data-course": "next", onclick: () => desk.lessons.pick(lesson.name) },
      words.t(done ? "course.go_on" : "course.begin")),
    done > 0 && h("div", {
      key: "bar", class: "bar", role: "progressbar", "aria-valuemin": "0", "aria-valuemax": String(of), "aria-valuenow": String(done),
      "aria-label": words.t("course.progress")
    }, h("i", { style: { width: `${percent}%` } })),
    h("p", { class: "hint", "data-course": "progress" }, words.t("course.done_of", { done, of }), minutes > 0 && ` · ${left(minutes, words)}`,
      done > 0 && [" · ", h("button", { type: "button", class: "plain back", "data-course": "forget", onclick: desk.lessons.forget },
        words.t("course.forget"))]));
}

/** A field that narrows the list while one types. */
export function search({ words, desk }) {
  return h("input", {
    key: "search", type: "search", class: "course-search", "data-course": "search", "aria-label": words.t("course.search"),
    placeholder: words.t("course.search"), value: desk.lessons.wanted, oninput: (event) => desk.lessons.search(event.target.value)
  });
}

const headingOf = ({ subject }) => `subject-${subject || "none"}`;

/** The tracks at a glance; each leads to its lessons. */
export function contents({ words, desk }) {
  const go = (id) => {
    const heading = document.getElementById(id);
    reveal(heading.parentElement);
    heading.focus({ preventScroll: true });
  };
  return h("nav", { key: "subjects", class: "subjects", "aria-label": words.t("scenarios.subjects") }, desk.lessons.subjects.map((group) => h("button", {
    key: group.subject, type: "button", class: "chip", "data-subject": group.subject, onclick: () => go(headingOf(group)),
  }, icon(group.subject || "words"), told(group.title, words))));
}

/** In which generations of Kafka a lesson holds. */
const holds = ({ generations }, words) => h("span", { class: "hint", "data-holds": Object.keys(generations).join(" ") },
  Object.keys(generations).map((name) => words.t(`generation.short.${name}`)).join(" · "));

/** A lesson of a list: a click opens it. */
function entry(one, number, { words, desk }) {
  const grade = desk.lessons.results.all[one.name];
  return h("li", { key: one.name },
    h("button", {
      type: "button", class: `card-button${grade ? " done" : ""}`, "data-scenario": one.name, "data-grade": grade,
      onclick: () => desk.lessons.pick(one.name)
    },
    h("b", {}, number !== null && h("span", { class: "lesson-number" }, `${number} `), told(one.title, words) || one.name),
    h("span", { class: "lesson-facts" },
      effort(one, words),
      holds(one, words),
      grade && h("span", { class: `grade ${grade}` }, `✓ ${words.t(`course.grade.${grade}`)}`))));
}

/** One track: what it is about, how many of its lessons are done, and its lessons in order. */
export function track(group, view) {
  const { words, desk } = view;
  const { lessons } = desk;
  const members = group.scenarios.map((name) => lessons.all.find((one) => one.name === name));
  const shown = matching(members, lessons.wanted, words.language);
  if (!shown.length) return null;
  const id = headingOf(group);
  const { done, of } = progressOf(members, lessons.results.all);
  return h("section", { key: id, "aria-labelledby": id },
    h("h3", { id, class: "subject", tabindex: "-1" },
      icon(group.subject || "words", 15),
      told(group.title, words),
      h("span", { class: "lever-state" }, done ? words.t("course.done_of", { done, of }) : words.t("scenarios.count", { n: of }))),
    group.text && !lessons.wanted && h("p", { class: "hint track-text" }, told(group.text, words)),
    h("ol", { class: "scenarios" }, shown.map((one) => entry(one, group.subject ? members.indexOf(one) + 1 : null, view))));
}

/** Below a verdict: what comes next. */
export function nextLesson({ words, desk }) {
  const { lessons } = desk;
  const found = lessons.all && !lessons.one.own ? next(lessons.all, lessons.results.all, lessons.one.name) : null;
  return found && h("div", { key: "next", class: "run-acts" },
    h("button", { type: "button", "data-course": "next", onclick: () => lessons.pick(found.name) },
      words.t("course.then", { title: told(found.title, words) })));
}
