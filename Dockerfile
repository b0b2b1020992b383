# The course in a container: JupyterLab, nbgrader and the grader, as an ordinary user. docs/operator.md says how to run it.
# Confinement of learners' code needs no privilege: Docker's default seccomp profile allows Landlock and seccomp (Docker >= 23).
FROM python:3.12-slim-bookworm

RUN useradd --create-home --uid 1000 course && install -d -o course -g course /home/course/course
ENV PATH=/home/course/venv/bin:$PATH PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
USER course
WORKDIR /home/course/course
RUN python -m venv /home/course/venv

# Packages first: they change more seldom than the course. The CPU build of torch is all the course needs.
COPY --chown=course pyproject.toml requirements.lock README.md LICENSE ./
RUN mkdir grader && touch grader/__init__.py \
    && pip install --extra-index-url https://download.pytorch.org/whl/cpu -c requirements.lock -e '.[test,cluster]'

COPY --chown=course . .
RUN grader build

EXPOSE 8888
CMD ["jupyter", "lab", "--ip=0.0.0.0", "--port=8888", "--no-browser", "--notebook-dir=/home/course/course"]
