//! The measures of the present tree, printed for people. Nothing fails here.

use crate::source::{Source, sources};
use crate::tables::{MODULES, PURE};

#[test]
fn report() {
    let sources = sources();
    let product: Vec<&Source> =
        sources.iter().filter(|s| s.path.starts_with("src/") && s.sizes().1 < s.sizes().0).collect();
    let lines = |source: &Source| source.sizes().0 - source.sizes().1;
    let files: Vec<usize> = product.iter().map(|source| lines(source)).collect();
    let functions: Vec<usize> =
        product.iter().flat_map(|s| s.functions()).filter(|f| !f.test).map(|function| function.lines).collect();
    let pure = |source: &Source| MODULES.iter().any(|m| Some(m.name) == source.module() && m.number <= PURE);
    let product_lines: usize = files.iter().sum();
    let pure_lines: usize = product.iter().filter(|s| pure(s)).map(|s| lines(s)).sum();
    let test_lines =
        |only_pure: bool| -> usize { sources.iter().filter(|s| !only_pure || pure(s)).map(|s| s.sizes().1).sum() };
    let expects: usize = product
        .iter()
        .flat_map(|s| s.code_lines())
        .filter(|(_, line, test)| !test && line.contains(".expect("))
        .count();
    let long = functions.iter().filter(|length| **length > 60).count();
    println!("measure                                 now                     goal");
    println!("file lines, median / p95 / max          {:<23} ≤150 / ≤500 / 800", spread(files.clone()));
    println!("function lines, median / p95 / max      {:<23} ≤10 / ≤45 / 70", spread(functions.clone()));
    println!("functions over 60 lines                 {:<23} <3 %", percent(long, functions.len()));
    println!("pure share of product lines             {:<23} ≥45 %", percent(pure_lines, product_lines));
    println!("test ÷ product lines                    {:<23} 0.5–0.8", ratio(test_lines(false), product_lines));
    println!("test ÷ product lines, pure modules      {:<23} ≥1.0", ratio(test_lines(true), pure_lines));
    println!("expect per 1,000 product lines          {:<23} ≤2", ratio(expects * 1000, product_lines));
    println!("product files / functions / lines       {} / {} / {product_lines}", files.len(), functions.len());
    for module in MODULES {
        let own: Vec<&&Source> = product.iter().filter(|s| s.module() == Some(module.name)).collect();
        if !own.is_empty() {
            let tests: usize = sources.iter().filter(|s| s.module() == Some(module.name)).map(|s| s.sizes().1).sum();
            let lines: usize = own.iter().map(|s| lines(s)).sum();
            println!(
                "{:>4} {:<10} {:>3} files {:>6} lines {:>6} of tests",
                module.number,
                module.name,
                own.len(),
                lines,
                tests
            );
        }
    }
}

fn spread(mut numbers: Vec<usize>) -> String {
    numbers.sort_unstable();
    let at = |hundredths: usize| numbers.get((numbers.len() * hundredths / 100).min(numbers.len().saturating_sub(1)));
    format!("{} / {} / {}", at(50).unwrap_or(&0), at(95).unwrap_or(&0), numbers.last().unwrap_or(&0))
}

fn percent(part: usize, whole: usize) -> String {
    let tenths = part * 1000 / whole.max(1);
    format!("{}.{} %", tenths / 10, tenths % 10)
}

fn ratio(part: usize, whole: usize) -> String {
    let hundredths = part * 100 / whole.max(1);
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}
