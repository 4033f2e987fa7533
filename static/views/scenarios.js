/** Scenarios: the way through all lessons, a file of one's own, and the way to one of them. */
import { contents, invitation, search, track } from "./course.js";
import { lessonPanel } from "./lesson.js";
import { h } from "./patch.js";

function list(view) {
  const { words, desk } = view;
  const { all, error, refused } = desk.lessons;
  if (error) return [h("p", { key: "error", class: "none", role: "alert" }, error)];
  if (!all && !refused) return [h("p", { key: "wait", class: "empty", role: "status" }, words.t("scenarios.loading"))];
  return [
    refused && h("p", { key: "refused", class: "verdict bad", role: "alert" }, "✕ ", refusal(refused, words)),
    all && [invitation(view), search(view), !desk.lessons.wanted && contents(view), tracks(view)],
    fileChooser(view),
  ];
}

/** All tracks, or what a search has left of them. */
function tracks(view) {
  const { words, desk } = view;
  const found = desk.lessons.subjects.map((group) => track(group, view)).filter(Boolean);
  return found.length ? found : h("p", { key: "nothing", class: "empty", role: "status" }, words.t("course.nothing", { wanted: desk.lessons.wanted }));
}

/** Why a link or a file is no scenario: with the file's line, where it is a file. */
function refusal({ what, file, line, error }, words) {
  if (what === "link") return words.t("link.damaged", { error });
  return words.t("file.refused", { place: line ? `${file}:${line}` : file, error });
}

/** A file of one's own: a button that opens the browser's dialog. */
function fileChooser({ words, desk }) {
  const take = (event) => {
    const { target } = event;
    desk.lessons.readFile(target.files[0]).then(() => { target.value = ""; });
  };
  return h("div", { key: "file", class: "run-acts" },
    h("label", { class: "file-button" },
      h("span", {}, words.t("file.open")),
      h("input", { type: "file", accept: ".yaml,.yml,application/yaml", class: "unseen", "data-file": "scenario", onchange: take })));
}

export function scenariosPanel(view) {
  return view.desk.lessons.one ? lessonPanel(view) : list(view);
}
