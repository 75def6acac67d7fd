"use strict";
(() => {
  const names = ["eps", "delta", "n_rows"];
  const sliders = Object.fromEntries(names.map((name) => [name, document.getElementById("at-" + name)]));
  const coefs = JSON.parse(document.getElementById("data").textContent);
  const words = (name) => sliders[name].dataset.stops.split(";")[Number(sliders[name].value)];

  const pointed = (part) => names.every((name) => !(name in part.dataset) || part.dataset[name] === sliders[name].value);

  const mark = (figure) => {
    const svg = figure.querySelector("svg");
    const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
    const x = Number(figure.dataset.at.split(" ")[Number(sliders.eps.value)]) * width;
    const [top, bottom] = figure.dataset.ends.split(" ").map((share) => Number(share) * height);
    let line = svg.querySelector(".cursor");
    if (!line) {
      line = document.createElementNS("http://www.w3.org/2000/svg", "line");
      for (const [key, value] of [["class", "cursor"], ["stroke", "#000"], ["stroke-width", "1"], ["opacity", ".55"]])
        line.setAttribute(key, value);
      svg.append(line);
    }
    for (const [key, value] of [["x1", x], ["x2", x], ["y1", top], ["y2", bottom]]) line.setAttribute(key, String(value));
  };

  const show = () => {
    for (const name of names) {
      document.getElementById("is-" + name).textContent = words(name);
      sliders[name].setAttribute("aria-valuetext", words(name));
    }
    for (const part of document.querySelectorAll("#promises tbody tr, #points tbody tr, figure"))
      part.hidden = !pointed(part);
    for (const figure of document.querySelectorAll("figure:not([hidden])")) mark(figure);
    const setting = `eps = ${words("eps")}, delta = ${words("delta")}, ${words("n_rows")} records`;
    document.getElementById("setting").textContent = setting;
    const place = names.map((name) => sliders[name].value).join(" ");
    for (const row of document.querySelectorAll("#coefficients tbody tr"))
      for (const cell of row.querySelectorAll("td")) {
        const found = coefs[place + " " + cell.dataset.mechanism];
        cell.textContent = found ? found[row.sectionRowIndex].join(" / ") : "";
      }
    const rows = [...document.querySelectorAll("#points tbody tr:not([hidden])")];
    const best = rows.find((row) => row.className === "auto") || rows[0];
    const cells = best ? [...best.cells].map((cell) => cell.textContent) : [];
    document.getElementById("live").textContent = best
      ? `At ${setting}: expected error ${cells[4]} by ${cells[0]}; without privacy ${cells[5]}, without a model ${cells[6]}.`
      : `At ${setting}: no mechanism has this setting.`;
  };

  for (const name of names) sliders[name].addEventListener("input", show);
  document.getElementById("sliders").addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("sliders").hidden = false;
  document.body.className = "moved";
  show();
})();
