# Solves a quadratic programme: peers.R FILE ANSWER SOLVER, or peers.R probe SOLVER. Prints milliseconds of the processor and of the clock.
words <- commandArgs(trailingOnly = TRUE)
solver <- words[length(words)]
suppressMessages(library(c(quadprog = "quadprog", ecos = "ECOSolveR")[[solver]], character.only = TRUE))
if (solver == "ecos") library(Matrix)

# As a cone: |U x|^2 / 2 is at most t where |(sqrt(2) U x, t - 1)| is at most t + 1.
as_cone <- function(hessian, linear, columns, least, equalities) {
  n <- length(linear)
  m <- length(least)
  root <- chol(hessian)
  even <- seq_len(equalities)
  above <- setdiff(seq_len(m), even)
  cone <- rbind(c(rep(0, n), -1), cbind(-sqrt(2) * root, 0), c(rep(0, n), -1))
  list(
    c = c(linear, 1),
    G = as(rbind(cbind(-t(columns[, above]), 0), cone), "dgCMatrix"),
    h = c(-least[above], 1, rep(0, n), -1),
    dims = list(l = length(above), q = n + 2L, e = 0L),
    A = as(cbind(t(columns[, even, drop = FALSE]), 0), "dgCMatrix"),
    b = least[even]
  )
}

solve_by <- function(hessian, linear, columns, least, equalities) {
  if (solver == "quadprog") return(function() solve.QP(hessian, -linear, columns, least, meq = equalities)$solution)
  cone <- as_cone(hessian, linear, columns, least, equalities)
  control <- ecos.control(feastol = 1e-9, abstol = 1e-10, reltol = 1e-9)
  function() {
    answer <- ECOS_csolve(cone$c, cone$G, cone$h, cone$dims, cone$A, cone$b, control = control)
    # 10 is an optimum to reduced accuracy: the distance of its value from ours is told.
    if (!answer$retcodes[["exitFlag"]] %in% c(0, 10)) stop(answer$infostring)
    answer$x[seq_along(linear)]
  }
}

if (words[1] != "probe") {
  file <- file(words[1], "rb")
  head <- readBin(file, "double", 4)
  n <- head[1]
  m <- head[2]
  hessian <- matrix(readBin(file, "double", n * n), n, n)
  linear <- readBin(file, "double", n)
  columns <- matrix(readBin(file, "double", m * n), n, m)
  least <- readBin(file, "double", m)
  close(file)
  # A dual method needs a definite curvature: what trades lack of it.
  if (any(diag(hessian) == 0)) diag(hessian) <- diag(hessian) + head[4]
  work <- solve_by(hessian, linear, columns, least, head[3])
  times <- matrix(0, 0, 2)
  solves <- 1 # Its clock has milliseconds: quick solves are timed by tens.
  for (run in 1:15) {
    begin <- proc.time()
    for (solve in seq_len(solves)) x <- work()
    used <- proc.time() - begin
    spent <- 1000 * c(used[["user.self"]] + used[["sys.self"]], used[["elapsed"]]) / solves
    times <- rbind(times, spent)
    if (spent[1] > 500) break
    if (solves == 1 && spent[1] < 50) {
      solves <- 10
      times <- matrix(0, 0, 2)
    }
  }
  best <- apply(times, 2, median)
  output <- file(words[2], "wb")
  writeBin(x, output)
  close(output)
  cat(best)
}
