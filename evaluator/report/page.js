"use strict";
(() => {
  const make = (tag, props, ...kids) => {
    const node = document.createElement(tag);
    for (const [k, v] of Object.entries(props || {})) if (v !== null && v !== undefined && v !== "") node.setAttribute(k, v);
    node.append(...kids.filter((kid) => kid !== null && kid !== undefined));
    return node;
  };
  // Tables: sort by a column, numbers by value, missing last.
  const key = (row, i) => {
    const cell = row.cells[i];
    return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
  };
  const missing = (v) => typeof v === "string" && v.startsWith("–");
  const compare = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en");
  for (const table of document.querySelectorAll("table.data")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((th, i) => {
      const button = make("button", { type: "button", "aria-label": "Sort by " + th.textContent }, "↕");
      button.onclick = () => {
        const down = th.getAttribute("aria-sort") !== "descending";
        heads.forEach((other) => { other.removeAttribute("aria-sort"); other.querySelector("button").textContent = "↕"; });
        th.setAttribute("aria-sort", down ? "descending" : "ascending");
        button.textContent = down ? "↓" : "↑";
        const rows = [...table.tBodies[0].rows];
        rows.sort((p, q) => {
          const a = key(p, i), b = key(q, i);
          if (missing(a) || missing(b)) return missing(a) - missing(b);
          return down ? -compare(a, b) : compare(a, b);
        });
        table.classList.add("sorted");
        table.tBodies[0].append(...rows);
      };
      th.append(button);
    });
  }
  // Copy: a command as text, a table as tab-separated values.
  const copier = (after, text) => {
    if (!navigator.clipboard) return;
    const button = make("button", { type: "button", class: "copy" }, "copy");
    button.onclick = () => navigator.clipboard.writeText(text()).then(() => { button.textContent = "copied"; }, () => { button.textContent = "not allowed"; });
    after.append(" ", button);
  };
  for (const code of document.querySelectorAll(".command")) copier(code.parentNode, () => code.textContent);
  for (const table of document.querySelectorAll("table.data")) copier(table.caption, () => [...table.rows].map((row) =>
    [...row.cells].map((c) => [...(c.querySelector(".v") ? c.children : [c])].map((part) => part.textContent.replace(/[↕↓↑]/g, "").trim()).join(" ")).join("\t")).join("\n"));
  // Examples: filter, sort, page; the first page is already in the document.
  const source = document.getElementById("data");
  if (!source) return;
  const all = JSON.parse(source.textContent), cards = document.getElementById("cards");
  const WORDS = { lost: ["✗", "wrong; right in the original order"], gained: ["✓", "right; wrong in the original order"],
    kept: ["✓", "right, as in the original order"], missed: ["✗", "wrong, as in the original order"] };
  const SIZE = 50;
  const token = (word, unit, slot, form, pair, x) => {
    const moved = unit !== slot ? " mv" : "";
    if (/^(⟨mask⟩ ?)+$/.test(word)) {
      const n = word.split("⟨").length - 1;
      return make("bdi", { class: "tok mask" + moved, dir: "ltr", role: "img", "data-i": unit + 1 + pair,
        "aria-label": "masked word, " + n + (n === 1 ? " piece" : " pieces"), "data-k": n === 1 ? "MASK" : "MASK ×" + n }, word);
    }
    const odd = [...new Set(word.match(/[\p{Cf}\p{Zl}\p{Zp}\p{Co}]|(?! )\p{Zs}/gu) || [])];
    const points = odd.map((c) => "U+" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")).join(" ");
    return make("span", { class: "tok" + moved, dir: x.dir, "data-i": unit + 1 + pair, "data-x": points },
      form ? make("ruby", {}, word, make("rt", {}, form)) : word);
  };
  const line = (l, x) => {
    const p = make("p", { class: "line", lang: x.lang, dir: x.dir });
    if (!l.u.length) p.append(...l.t);
    l.u.forEach((unit, slot) => p.append(l.t[2 * slot], token(l.t[2 * slot + 1], unit, slot, l.r[slot], l.p ? l.p[slot] : "", x)));
    if (l.u.length) p.append(l.t[l.t.length - 1]);
    return p;
  };
  const answers = (x) => {
    const depth = Math.max(0, ...x.q.map((c) => c.w.length)), body = make("tbody");
    for (let r = 0; r < depth; r++)
      body.append(make("tr", {}, make("th", { scope: "row" }, String(r + 1)), ...x.q.map((c) => c.w[r]
        ? make("td", {}, make("bdi", { lang: x.lang }, c.w[r][0]), " ", make("small", {}, c.w[r][1]), c.w[r][2] ? make("b", {}, " ✓") : null)
        : make("td"))));
    body.append(make("tr", { class: "gold" }, make("th", { scope: "row" }, "gold ", x.g ? make("bdi", { lang: x.lang }, x.g) : null),
      ...x.q.map((c) => make("td", {}, c.g))));
    const head = make("tr", {}, make("th", { scope: "col" }, "rank"), ...x.q.map((c) => make("th", { scope: "col" }, c.h)));
    return make("div", { class: "scroll" }, make("table", { class: "answers" }, make("caption", {}, "Answers, best first"),
      make("thead", {}, head), body));
  };
  const card = (x) => {
    const [glyph, said] = WORDS[x.o];
    return make("article", { class: "ex " + x.o, id: x.id, tabindex: "-1" },
      make("header", {}, make("h3", {}, make("a", { href: "#" + x.id }, x.l + " · " + x.s)), make("span", { class: "cond" }, x.c),
        make("span", { class: "meta" }, x.m + " · " + x.u + " · " + x.n),
        make("strong", { class: glyph === "✓" ? "yes" : "no" }, glyph + " " + said + " (" + x.v + ")")),
      x.a && x.b ? make("dl", { class: "lines" }, make("dt", {}, "orig"), make("dd", {}, line(x.a, x)), make("dt", {}, "shown"),
        make("dd", {}, line(x.b, x))) : null,
      answers(x), x.z ? make("details", {}, make("summary", {}, "pieces"), make("code", { dir: "ltr" }, x.z)) : null);
  };
  const form = document.getElementById("filters"), pager = document.getElementById("pager");
  const fields = { o: "outcome", m: "model", c: "condition", l: "language", u: "part of speech", k: "pieces masked" };
  const selects = {};
  for (const [field, label] of Object.entries(fields)) {
    const values = [...new Set(all.map((x) => String(x[field])))];
    if (field === "k") values.sort((a, b) => a - b);
    const select = make("select", {}, make("option", { value: "*" }, "all"));
    values.forEach((v, i) => select.append(make("option", { value: String(i) }, v)));
    selects[field] = [select, values];
    form.append(make("label", {}, label, select));
  }
  const order = make("select", {});
  ["as sampled", "largest loss of log p", "largest gain of log p"].forEach((t, i) => order.append(make("option", { value: String(i) }, t)));
  form.append(make("label", {}, "sort", order));
  let at = 0, found = all;
  const previous = make("button", { type: "button" }, "← previous"), next = make("button", { type: "button" }, "next →");
  const where = make("span", { role: "status" });
  pager.append(previous, where, next);
  const status = () => {
    where.textContent = found.length ? (at + 1) + "–" + Math.min(at + SIZE, found.length) + " of " + found.length : "no example matches";
    previous.disabled = at === 0;
    next.disabled = at + SIZE >= found.length;
  };
  const show = () => { cards.replaceChildren(...found.slice(at, at + SIZE).map(card)); status(); };
  const filter = () => {
    found = all.filter((x) => Object.entries(selects).every(([f, [s, v]]) => s.value === "*" || String(x[f]) === v[s.value]));
    if (order.value !== "0") found = found.slice().sort((a, b) => order.value === "1" ? a.d - b.d : b.d - a.d);
    at = 0;
    show();
  };
  form.addEventListener("change", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  const turn = (step) => { at = Math.max(0, at + step); show(); document.getElementById("examples").scrollIntoView(); };
  previous.onclick = () => turn(-SIZE);
  next.onclick = () => turn(SIZE);
  form.hidden = pager.hidden = false;
  status();
  const open = () => {
    const id = location.hash.slice(1), i = all.findIndex((x) => x.id === id);
    if (i < 0) return;
    if (!document.getElementById(id)) { found = all; at = i - (i % SIZE); show(); }
    const node = document.getElementById(id);
    node.focus();
    node.scrollIntoView();
  };
  addEventListener("hashchange", open);
  // Counts of flipped items lead to them: the filters are set as the link says.
  for (const link of document.querySelectorAll("a[data-show]")) link.onclick = () => {
    const wanted = JSON.parse(link.dataset.show);
    for (const [f, [s, v]] of Object.entries(selects)) {
      const i = f in wanted ? v.indexOf(wanted[f]) : -1;
      s.value = i < 0 ? "*" : String(i);
    }
    filter();
  };
  open();
  addEventListener("keydown", (event) => {
    if ((event.key !== "j" && event.key !== "k") || event.ctrlKey || event.metaKey || event.altKey || /SELECT|INPUT/.test(event.target.tagName)) return;
    const list = [...cards.children], now = list.indexOf(document.activeElement.closest(".ex"));
    const node = list[Math.min(list.length - 1, Math.max(0, now + (event.key === "j" ? 1 : -1)))];
    if (node) { node.focus(); node.scrollIntoView({ block: "nearest" }); }
  });
  // The same unit lights in both lines.
  const light = (event) => {
    const tok = event.target.closest ? event.target.closest(".tok") : null;
    for (const lit of cards.querySelectorAll(".lit")) lit.classList.remove("lit");
    if (tok) for (const twin of tok.closest(".ex").querySelectorAll('.tok[data-i="' + tok.dataset.i + '"]')) twin.classList.add("lit");
  };
  cards.addEventListener("mouseover", light);
})();
