"use strict";
(() => {
  // td("text"), td({ class: "x" }, child, …): an element by its name; empty attributes and children are left out.
  const tags = (space) => new Proxy({}, { get: (_, tag) => (...kids) => {
    const node = document.createElementNS(space, tag), given = (v) => v || v === 0;
    if (kids[0] && kids[0].constructor === Object) for (const [k, v] of Object.entries(kids.shift())) if (given(v)) node.setAttribute(k, v);
    node.append(...kids.filter(given));
    return node;
  } });
  const { a, article, b, bdi, button, caption, code, dd, details, div, dl, dt, h3, header, label, li, ol, option, p, rt, ruby, select, small, span,
    strong, summary, table, tbody, td, th, thead, tr } = tags("http://www.w3.org/1999/xhtml");
  const { line: stroke, path, svg, text, title, tspan } = tags("http://www.w3.org/2000/svg");
  const every = (query, root = document) => [...root.querySelectorAll(query)], by = (id) => document.getElementById(id);
  // Copy: a command as text, a table as tab-separated values.
  const copier = (after, content) => {
    if (!navigator.clipboard) return;
    const copy = button({ type: "button", class: "copy" }, "copy"), say = (word) => () => { copy.textContent = word; };
    copy.onclick = () => navigator.clipboard.writeText(content()).then(say("copied"), say("not allowed"));
    after.append(" ", copy);
  };
  for (const command of every(".command")) copier(command.parentNode, () => command.textContent);
  const said = (cell) => [...cell.childNodes].map((part) => part.textContent.replace(/[↕↓↑]/g, "").trim()).join(" ").trim();
  // Tables: sort by a column, numbers by the value printed, missing last.
  const key = (row, i) => {
    const first = row.cells[i].firstChild, shown = first ? first.textContent.trim() : "";
    const number = Number(shown.replace("−", "-").replace(/[<,]/g, ""));
    return shown && !isNaN(number) ? number : shown;
  };
  const missing = (v) => typeof v === "string" && v.startsWith("–");
  const compare = (x, y) => x - y || String(x).localeCompare(String(y), "en");
  for (const data of every("table.data")) {
    const heads = [...data.tHead.rows[0].cells];
    if (data.rows.length > 3) heads.forEach((head, i) => {
      const sorter = button({ type: "button", "aria-label": "Sort by " + head.textContent }, "↕");
      sorter.onclick = () => {
        const down = head.getAttribute("aria-sort") !== "descending", rows = [...data.tBodies[0].rows];
        heads.forEach((other) => { other.removeAttribute("aria-sort"); other.lastChild.textContent = "↕"; });
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        sorter.textContent = down ? "↓" : "↑";
        rows.sort((one, two) => {
          const x = key(one, i), y = key(two, i);
          return missing(x) || missing(y) ? missing(x) - missing(y) : down ? compare(y, x) : compare(x, y);
        });
        data.classList.add("sorted");
        data.tBodies[0].append(...rows);
      };
      head.append(sorter);
    });
    copier(data.caption, () => [...data.rows].map((row) => [...row.cells].map(said).join("\t")).join("\n"));
  }
  // Examples: filter, sort, page; the first page is already in the document.
  const source = by("data");
  if (!source) return;
  const all = JSON.parse(source.textContent), cards = by("cards"), form = by("filters"), pager = by("pager");
  const WORDS = { lost: "✗ wrong; right", gained: "✓ right; wrong", kept: "✓ right, as", missed: "✗ wrong, as" };
  const SIZE = 50, MASK = /^(⟨mask⟩ ?)+$/;
  const token = (word, unit, slot, form, pair, x) => {
    const cls = unit !== slot ? " mv" : "", at = unit + 1 + pair;
    if (MASK.test(word)) {
      const n = word.split("⟨").length - 1;
      return bdi({ class: "tok mask" + cls, dir: "ltr", role: "img", "data-i": at, "aria-label": "masked word, " + n + (n === 1 ? " piece" : " pieces"),
        "data-k": n === 1 ? "MASK" : "MASK ×" + n }, word);
    }
    const odd = [...new Set(word.match(/[\p{Cf}\p{Zl}\p{Zp}\p{Co}]|(?! )\p{Zs}/gu) || [])];
    const points = odd.map((c) => "U+" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")).join(" ");
    return span({ class: "tok" + cls, dir: x.dir, "data-i": at, "data-x": points }, form ? ruby(word, rt(form)) : word);
  };
  // A line holds its words by unit (`w`, else the item's), the unit at each slot (`u`, else in order), the text between (`s`).
  const words = (l, x) => l.w || x.w, order = (l, x) => l.u || words(l, x).map((_, i) => i);
  const gap = (l, i) => l.s[i] === "0" ? "" : l.s[i];
  const line = (l, x) => p({ class: "line", lang: x.lang, dir: x.dir }, ...(l.t ? [l.t] : [...order(l, x).flatMap((unit, slot) =>
    [gap(l, slot), token(words(l, x)[unit], unit, slot, x.r && !l.w ? x.r[unit] : "", x.p ? x.p[unit] : "", x)]), gap(l, words(l, x).length)]));
  const chance = (v) => typeof v !== "number" ? v : v === 1000 ? "1.00" : "." + String(v).padStart(3, "0");
  const answers = (x) => {
    const word = (w) => bdi({ lang: x.lang }, w), row = { scope: "row" }, col = { scope: "col" };
    const ranks = [...Array(Math.max(0, ...x.q.map((c) => c.w.length))).keys()];
    return div({ class: "scroll" }, table({ class: "answers" }, caption("Answers, best first"),
      thead(tr(th(col, "rank"), ...x.q.map((c) => th(col, c.h)))),
      tbody(...ranks.map((r) => tr(th(row, String(r + 1)), ...x.q.map((c) => r < c.w.length
        ? td(word(c.w[r]), " ", small(chance(c.p[r])), c.k === r + 1 ? b(" ✓") : null) : td()))),
      tr({ class: "gold" }, th(row, "gold ", x.g ? word(x.g) : null), ...x.q.map((c) => td(c.g))))));
  };
  const card = (x) => drawn(x, article({ class: "ex " + x.o, id: x.id, tabindex: "-1" },
      header(h3(a({ href: "#" + x.id }, x.l + " · " + x.s)), span({ class: "cond" }, x.c), span({ class: "meta" }, x.m + " · " + x.u + " · " + x.n),
        strong({ class: /✓/.test(WORDS[x.o]) ? "yes" : "no" }, `${WORDS[x.o]} in the original order (${x.v})`)),
      x.b ? dl({ class: "lines" }, dt("orig"), dd(line(x.a, x)), dt("shown"), dd(line(x.b, x))) : null,
      answers(x), x.z ? details(summary("pieces"), code({ dir: "ltr" }, x.z)) : null));
  // Tree and order, drawn when opened: a row per unit, arcs to its head on one side, a line to its new place on the other.
  const STEP = 22, MOST = 30;
  const drawn = (x, into) => {
    if (x.h) {
      const box = details(summary("tree and order")), unit = words(x.b, x).map((w) => MASK.test(w) ? "MASK" : w);
      box.ontoggle = () => box.children[1] || box.append(unit.length > MOST ? branches(x, unit, -1) : picture(x, unit));
      into.append(box);
    }
    return into;
  };
  const branches = (x, unit, head) => ol({ class: "tree", lang: x.lang, dir: x.dir }, ...unit.flatMap((w, i) =>
    x.h[i] === head ? [li({ value: i + 1 }, w, " ", small(x.e[i]), branches(x, unit, i))] : []));
  const picture = (x, unit) => {
    const slot = [], at = (d) => 360 + (x.dir === "rtl" ? -d : d), y = (i) => 16 + i * STEP, height = unit.length * STEP + 12;
    order(x.b, x).forEach((u, s) => { slot[u] = s; });
    const word = (i, row, d, ...more) => text({ x: at(d), y: y(row) + 4, direction: x.dir, class: unit[i] === "MASK" ? "m" : "" }, unit[i], ...more);
    const arc = (i, head, far) => path({ d: `M${at(-210)} ${y(i)}C${far} ${y(i)} ${far} ${y(head)} ${at(-210)} ${y(head)}` });
    return div({ class: "scroll" }, svg({ class: "drawn", role: "img", lang: x.lang, width: 720, height, viewBox: "0 0 720 " + height },
      title("Tree and order: " + unit.map((w, i) => `${i + 1} ${w} (${x.e[i]}${x.h[i] < 0 ? "" : " of " + (x.h[i] + 1)})`).join(", ")),
      ...unit.flatMap((_, i) => [x.h[i] < 0 ? null : arc(i, x.h[i], at(-214 - Math.min(140, 8 * Math.abs(i - x.h[i])))),
        stroke({ class: slot[i] === i ? "still" : x.p && x.p[i] ? "pair" : "", x1: at(0), y1: y(i), x2: at(110), y2: y(slot[i]) }),
        word(i, i, -204, tspan(" " + x.e[i])), word(i, slot[i], 120)]).filter(Boolean)));
  };
  const known = new Map(all.map((x) => [x.id, x]));
  for (const shown of cards.children) drawn(known.get(shown.id), shown);
  const choice = (name, options) => {
    const box = select(...options.map(([value, shown]) => option({ value }, shown)));
    form.append(label(name, box));
    return box;
  };
  const selects = Object.entries({ o: "outcome", m: "model", c: "condition", l: "language", u: "part of speech", k: "pieces masked", t: "remark" }).map(([f, name]) => {
    const values = [...new Set(all.map((x) => String(x[f])))];
    if (f === "k") values.sort((one, two) => one - two);
    return [f, choice(name, [["*", "all"], ...values.map((v, i) => [i, v])]), values];
  });
  const sorting = choice("sort", ["as sampled", "largest loss of log p", "largest gain of log p"].entries());
  let at = 0, found = all;
  const previous = button({ type: "button" }, "← previous"), next = button({ type: "button" }, "next →"), where = span({ role: "status" });
  pager.append(previous, where, next);
  const status = () => {
    where.textContent = found.length ? `${at + 1}–${Math.min(at + SIZE, found.length)} of ${found.length}` : "no example matches";
    previous.disabled = at === 0;
    next.disabled = at + SIZE >= found.length;
  };
  const show = () => { cards.replaceChildren(...found.slice(at, at + SIZE).map(card)); status(); };
  const filter = () => {
    found = all.filter((x) => selects.every(([f, box, values]) => box.value === "*" || String(x[f]) === values[box.value]));
    if (sorting.value !== "0") found.sort((x, y) => sorting.value === "1" ? x.d - y.d : y.d - x.d);
    at = 0;
    show();
  };
  form.onchange = filter;
  form.onsubmit = () => false;
  const turn = (step) => { at = Math.max(0, at + step); show(); by("examples").scrollIntoView(); };
  previous.onclick = () => turn(-SIZE);
  next.onclick = () => turn(SIZE);
  form.hidden = pager.hidden = false;
  status();
  const open = () => {
    const id = location.hash.slice(1), i = all.findIndex((x) => x.id === id);
    if (i < 0) return;
    if (!by(id)) { found = all; at = i - (i % SIZE); show(); }
    by(id).focus();
    by(id).scrollIntoView();
  };
  addEventListener("hashchange", open);
  // Counts of flipped items lead to them: the filters are set as the link says.
  for (const link of every("a[data-show]")) link.onclick = () => {
    const wanted = JSON.parse(link.dataset.show);
    for (const [f, box, values] of selects) box.value = f in wanted && values.includes(wanted[f]) ? values.indexOf(wanted[f]) : "*";
    filter();
  };
  open();
  addEventListener("keydown", (event) => {
    if (!/^[jk]$/.test(event.key) || event.ctrlKey || event.metaKey || event.altKey || /SELECT|INPUT/.test(event.target.tagName)) return;
    const list = [...cards.children], now = list.indexOf(document.activeElement.closest(".ex"));
    const node = list[Math.min(list.length - 1, Math.max(0, now + (event.key === "j" ? 1 : -1)))];
    if (node) { node.focus(); node.scrollIntoView({ block: "nearest" }); }
  });
  // The same unit lights in both lines.
  cards.onmouseover = (event) => {
    const lit = event.target.closest(".tok");
    for (const old of every(".lit", cards)) old.classList.remove("lit");
    if (lit) for (const twin of every(`.tok[data-i="${lit.dataset.i}"]`, lit.closest(".ex"))) twin.classList.add("lit");
  };
})();
